// Cells in V8's REPL mode: redeclaration, live closures and top-level await as in a browser's console. The evaluation is
// started from inside a script that breaks on SIGINT, so a loop ends and its variables stay.
"use strict";
const inspector = require("node:inspector");
const vm = require("node:vm");

const { Object, Promise } = globalThis;

const session = new inspector.Session();
const KEY = `__agent_${Math.random().toString(36).slice(2)}`;
const OURS = `globalThis["${KEY}"]`;
let job = null;
let boxed;
let context;
let abort = null;

const connect = () => {
  session.connect();
  session.on("Runtime.executionContextCreated", (message) => {
    context ??= message.params.context.id;
  });
  session.post("Runtime.enable");
  session.post("Runtime.disable");
  const hidden = { go: () => job(), box: (value) => (boxed = value) };
  Object.defineProperty(globalThis, KEY, { enumerable: false, value: hidden });
};

let gate = null;

/** What the inspector calls a remote object, as the value that it is. */
const unbox = (remote) => {
  if (remote.type === "undefined") return undefined;
  const { objectId, unserializableValue, value } = remote;
  const argument = objectId ? { objectId } : unserializableValue ? { unserializableValue } : { value };
  const functionDeclaration = `function (value) { ${OURS}.box(value) }`;
  session.post("Runtime.callFunctionOn", { executionContextId: context, functionDeclaration, arguments: [argument] });
  const found = boxed;
  boxed = undefined;
  return found;
};

/** Ends the evaluation that waits, with this in its place. */
const giveUp = (outcome) => abort?.(outcome);

/** Evaluates a cell: `{value}`, `{thrown}`, `{failed}` or `{interrupted}`. `unread` where V8 could not read it, so that nothing ran. */
const evaluate = async (expression) => {
  gate ??= new vm.Script(`${OURS}.go()`, { filename: "[agent-eval]" });
  const outcome = await new Promise((resolve) => {
    abort = resolve;
    const options = { expression, contextId: context, replMode: true, awaitPromise: true, objectGroup: "cell" };
    job = () => session.post("Runtime.evaluate", options, (error, result) => resolve(error ? { failed: error.message } : { result }));
    try {
      gate.runInThisContext({ breakOnSigint: true });
    } catch (error) {
      const broken = error.code === "ERR_SCRIPT_EXECUTION_INTERRUPTED";
      resolve(broken ? { interrupted: "interrupted" } : { thrown: error });
    }
  });
  abort = null;
  const { result } = outcome;
  if (!result) return outcome;
  const details = result.exceptionDetails;
  if (!details) return { value: unbox(result.result) };
  if (!details.exception) return { failed: details.text };
  // What a cell throws is a promise's rejection, which belongs to no script.
  const unread = details.scriptId !== undefined && details.exception.className === "SyntaxError";
  return { thrown: unbox(details.exception), unread };
};

/** Whether a name has a value: one that was declared, and whose declaration never came to its end, has none. */
const isThere = (name) => {
  let found = false;
  const options = { expression: `(${name}, true)`, contextId: context };
  session.post("Runtime.evaluate", options, (error, result) => (found = !error && !result.exceptionDetails));
  return found;
};

/** Lets go of what the inspector holds of the last cell. */
const release = () => session.post("Runtime.releaseObjectGroup", { objectGroup: "cell" });

module.exports = { connect, evaluate, giveUp, isThere, release };
