// Messages to the host, and the marks that order them with the outputs.
"use strict";
const fs = require("node:fs");
const { Worker, MessageChannel } = require("node:worker_threads");
const control = require("agent:control");

// Bound before any cell can replace them.
const { writeSync } = fs;
const { Buffer, Promise, Error, String } = globalThis;
const { parse, stringify } = JSON;

// The outputs once more, as the supervisor's shell gives them.
const OUTPUTS = [4, 5];

const state = { parent: {}, running: false, count: 0 };
const { port1, port2 } = new MessageChannel();
const pending = Object.create(null);
let marks = 0;
let calls = 0;

const write = (descriptor, text) => {
  let rest = Buffer.from(text);
  while (rest.length) {
    try {
      rest = rest.subarray(writeSync(descriptor, rest));
    } catch (error) {
      if (error.code !== "EAGAIN") return;
    }
  }
};

const mark = () => {
  const text = `\x1e${boot.token}:${++marks}\x1e`;
  // Not into 1 and 2: a cell may have closed these.
  write(OUTPUTS[0], text);
  write(OUTPUTS[1], text);
  return { mark: marks };
};

// Messages that are to be written at once.
let held = null;
const post = (message) => (held ? held.push(message) : port1.postMessage([message]));

/** Keeps messages back until `letGo`. */
const hold = () => {
  held ??= [];
};
const letGo = () => {
  const messages = held;
  held = null;
  if (messages?.length) port1.postMessage(messages);
};

/** Sends a message that belongs into the order of the outputs. */
const sendMarked = (kind, content, more = {}) => {
  const { id, metadata } = more;
  post({ kind, id, content, metadata: { ...metadata, ...mark() }, parent: state.parent });
};

/** Sends one whose place does not matter. */
const send = (kind, content, metadata = {}) => post({ kind, content, metadata, parent: state.parent });

/** A remark of the kernel's own, which a reader finds among the errors. */
const note = (text) => write(2, `[${text}]\n`);

class ToolError extends Error {
  constructor(reply) {
    super(reply.error ?? "the tool failed");
    this.name = "ToolError";
    this.kind = reply.kind;
    this.code = reply.code;
  }
}

const call = (name, args) => {
  // Encoded here, so that what JSON cannot hold is the cell's own error.
  const content = { name: String(name), arguments: parse(stringify(args ?? {})) };
  const id = `t${++calls}`;
  return new Promise((resolve, reject) => {
    pending[id] = { resolve, reject };
    post({ kind: "tool_request", id, content, metadata: {}, parent: state.parent });
  });
};

/** Calls a tool of the run and gives its result: text as a string, structured as an object. */
const tool = async (name, args) => (await call(name, args)).value;
/** The same call, with the structured form of the result where the tool has one. */
tool.data = async (name, args) => (await call(name, args)).data;

const start = (onRequest) => {
  port1.on("message", (message) => {
    if (message.execute) {
      onRequest(message.execute);
      return;
    }
    const waiting = pending[message.id];
    delete pending[message.id];
    if (message.reply.ok) waiting?.resolve(message.reply);
    else waiting?.reject(new ToolError(message.reply));
  });
  new Worker(control.source, { eval: true, workerData: { port: port2 }, transferList: [port2], stdout: false, stderr: false });
};

module.exports = { state, send, sendMarked, hold, letGo, note, tool, start };
