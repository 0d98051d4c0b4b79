// The kernel's main thread: cells one after the other, and what they leave behind without ending it.
"use strict";
const { state, send, sendMarked, hold, letGo, note, tool, start } = require("agent:wire");
const { bundle, display, inspected } = require("agent:mime");
const { load, requireHere } = require("agent:modules");
const { builtinModules } = require("node:module");
const { connect, evaluate, giveUp, isThere, release } = require("agent:evaluate");

const { Error, Object, Promise, Reflect, Set, String, setImmediate, globalThis: world } = globalThis;
const NAMES = 30;
// Names of modules that are globals too, in every program.
const OWN_GLOBALS = new Set(["console", "crypto", "performance", "process", "buffer", "navigator"]);

// Frames of Node and of this kernel say nothing to whoever wrote the cell.
const OURS = /^\s+at .*(node:|\[agent-eval\]|\[eval\]|worker eval)/;

class Exit extends Error {
  constructor(code) {
    super(`process.exit(${code ?? 0})`);
    this.name = "Exit";
    this.code = code ?? 0;
  }
}

/** The lines without our frames. Where the last frame opens the list of an error's properties, what stands before it does. */
const withoutOurs = (lines) => {
  const kept = [];
  const isOurs = (line) => OURS.test(line ?? "");
  // By index: cells replace what arrays can do.
  for (let index = 0; index < lines.length; index += 1) {
    const line = lines[index];
    // A promise that one of our own frames makes.
    const wraps = OF_A_PROMISE.test(line) && isOurs(lines[index + 1]);
    if (!isOurs(line) && !wraps) kept[kept.length] = line;
    else if (OPENS.test(line) && kept.length) kept[kept.length - 1] += " {";
  }
  return kept;
};

const OF_A_PROMISE = /at new Promise \(<anonymous>\)$/;
const OPENS = / \{$/;
const TYPESCRIPT = /"\.[cm]?tsx?"/;
const NO_TYPESCRIPT =
  `Node ${process.versions.node} imports no TypeScript (22.18 and newer do). In a cell types are erased: run the file's text as a cell, ` +
  "or import the JavaScript that it is compiled to";

/** The name, the text and the lines of whatever was thrown. */
const described = (thrown) => {
  if (thrown instanceof Error) {
    const lines = withoutOurs(inspected(thrown).split("\n"));
    if (thrown.code === "ERR_UNKNOWN_FILE_EXTENSION" && TYPESCRIPT.test(thrown.message)) lines[lines.length] = NO_TYPESCRIPT;
    return { name: String(thrown.name || "Error"), value: String(thrown.message), lines };
  }
  const text = bundle(thrown).data["text/plain"];
  return { name: "Uncaught", value: text, lines: [`Uncaught ${text}`] };
};

/** How long a signal may come after what it interrupts. */
const LATE_SIGNAL_MS = 100;

// Cells may replace the global one.
const later = setTimeout;

const STRAYED = "(nobody waited for this: it came of what this cell or an earlier one began, while this cell ran to its end)";

let exited = null;
let stray = null;

// To a socket Node would write what does not fit later, behind the marks that follow.
for (const output of [process.stdout, process.stderr]) output._handle?.setBlocking?.(true);

/** A rejection or exception that nobody waits for: the running cell's error, or a remark. It never ends the process. */
const strayed = (kind) => (thrown) => {
  if (thrown instanceof Exit) {
    exited = thrown;
    giveUp({ exited: true });
    return;
  }
  const error = described(thrown);
  if (state.running) stray ??= error;
  else note(`${kind} of an earlier cell: ${error.lines.join("\n")}`);
};

const failed = ({ name, value, lines }) => {
  sendMarked("error", { ename: name, evalue: value, traceback: lines });
  return "error";
};

const afterExit = (exit) => {
  if (!exit.code) {
    note("the cell called process.exit(); the interpreter is still running");
    return "ok";
  }
  const text = `process.exit(${exit.code}); the interpreter is still running`;
  return failed({ name: "SystemExit", value: String(exit.code), lines: [text] });
};

const settle = async (outcome, metadata) => {
  if (exited) return afterExit(exited);
  if (outcome.interrupted) {
    const { interrupted } = outcome;
    return failed({ name: "KeyboardInterrupt", value: interrupted, lines: [`KeyboardInterrupt: ${interrupted}`] });
  }
  if (outcome.failed) return failed({ name: "Error", value: outcome.failed, lines: [outcome.failed] });
  if ("thrown" in outcome) {
    if (outcome.thrown instanceof Exit) return afterExit(outcome.thrown);
    const error = described(outcome.thrown);
    return failed(metadata.hint ? { ...error, lines: [...error.lines, metadata.hint] } : error);
  }
  // Rejections that float come up before the next turn.
  await new Promise((resolve) => setImmediate(resolve));
  if (exited) return afterExit(exited);
  if (outcome.value !== undefined && metadata.shows_value !== false) {
    world._ = outcome.value;
    const { data, leftOut } = bundle(outcome.value);
    const content = { execution_count: state.count, data, metadata: {} };
    sendMarked("execute_result", content, { metadata: { left_out: leftOut } });
  }
  if (stray) return failed({ ...stray, lines: [...stray.lines, STRAYED] });
  return "ok";
};

let given = new Set();
// What cells declared with let, const and class is no property of the global object.
const declared = new Set();
// What is declared and has no value, or none yet: what its cell waits for may still come.
const unset = new Set();
const noteDeclared = (names) => {
  for (const name of names) {
    declared.delete(name);
    unset.add(name);
  }
  for (const name of [...unset]) {
    if (isThere(name)) {
      unset.delete(name);
      declared.add(name);
    }
  }
};
const names = () => [...declared, ...Object.keys(world).filter((name) => !given.has(name) && !name.startsWith("_"))];

const execute = async (message) => {
  const { content, metadata } = message;
  state.parent = message.header;
  state.count += 1;
  state.running = true;
  exited = stray = null;
  send("status", { execution_state: "busy" });
  let status;
  let began = true;
  try {
    const source = `${metadata.rewritten ?? content.code}\n//# sourceURL=cell-${state.count}.js`;
    const outcome = await evaluate(source);
    began = !outcome.unread;
    // A signal to the whole group may reach this process after the child that the cell waited for. Now nobody takes it for
    // the next cell's.
    if (outcome.interrupted) await new Promise((resolve) => later(resolve, LATE_SIGNAL_MS));
    // What is left to say of this cell is said at once.
    hold();
    status = await settle(outcome, metadata);
  } catch (error) {
    status = failed(described(error));
  }
  release();
  state.running = false;
  noteDeclared(metadata.declares ?? []);
  const all = names();
  const reply = { status, execution_count: state.count, payload: [], user_expressions: {} };
  if (status === "error") Object.assign(reply, { ename: "", evalue: "", traceback: [] });
  const more = all.length > NAMES ? all.length - NAMES : 0;
  sendMarked("execute_reply", reply, { metadata: { names: all.slice(0, NAMES), more, began } });
  send("status", { execution_state: "idle" });
  letGo();
};

const queue = [];
let busy = false;
const pump = async () => {
  if (busy) return;
  busy = true;
  while (queue.length) await execute(queue.shift());
  busy = false;
};

const run = () => {
  process.on("SIGINT", () => giveUp({ interrupted: "interrupted while it waited; what it started may go on" }));
  process.on("unhandledRejection", strayed("an unhandled rejection (is an await missing?)"));
  process.on("uncaughtException", strayed("an uncaught exception"));
  process.exit = (code) => {
    throw new Exit(code);
  };
  for (const [name, value] of [["TERM", "dumb"], ["PAGER", "cat"], ["GIT_PAGER", "cat"]]) process.env[name] = value;
  for (const [name, value] of [["NO_COLOR", "1"], ["GIT_TERMINAL_PROMPT", "0"]]) process.env[name] ??= value;
  // What `node -e` gives its script, and what a cell has no business with or declares itself.
  const names = ["module", "exports", "__filename", "__dirname", ...builtinModules];
  for (const name of names) if (!OWN_GLOBALS.has(name)) Reflect.deleteProperty(world, name);
  Object.assign(world, { display, tool, require: requireHere });
  Object.defineProperty(world, "__import", { enumerable: false, writable: true, configurable: true, value: load });
  connect();
  // Node puts `module` back.
  given = new Set([...Object.keys(world), "module"]);
  start((message) => {
    queue.push(message);
    pump();
  });
  send("status", { execution_state: "starting" }, { version: process.versions.node, executable: process.execPath });
};

module.exports = { run };
