// Values as MIME bundles: images by their first bytes, what says how it is displayed, else Node's own inspection.
"use strict";
const util = require("node:util");
const { sendMarked } = require("agent:wire");

const { ArrayBuffer, Buffer, Object, String, Symbol } = globalThis;
const { inspect, types } = util;

const PLAIN_LIMIT = 50_000;
const PLAIN_HEAD = 25_000;
const PLAIN_TAIL = 15_000;
// Deno's convention, which libraries follow.
const DISPLAY = Symbol.for("Jupyter.display");

const inspected = (value) =>
  typeof value === "string"
    ? inspect(value, { maxStringLength: Infinity })
    : inspect(value, { depth: 4, maxArrayLength: 200, maxStringLength: 20_000, breakLength: 100 });

/** As text/plain, its middle left out where it is long, and how many characters these are. */
const plain = (text) => {
  if (text.length <= PLAIN_LIMIT) return { data: { "text/plain": text }, leftOut: 0 };
  const [head, tail] = [text.slice(0, PLAIN_HEAD), text.slice(-PLAIN_TAIL)];
  const leftOut = characters(text) - characters(head) - characters(tail);
  // The host knows this line.
  return { data: { "text/plain": `${head}\n… ${leftOut} characters left out …\n${tail}` }, leftOut };
};

/** Not code units: the host counts characters. */
const characters = (text) => {
  let count = text.length;
  for (let at = 0; at < text.length; at += 1) if ((text.charCodeAt(at) & 0xfc00) === 0xdc00) count -= 1;
  return count;
};

const image = (value) => {
  if (!ArrayBuffer.isView(value) || value.byteLength < 9) return null;
  const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  if (bytes.readUInt32BE(0) === 0x89504e47) {
    return { "image/png": bytes.toString("base64"), "text/plain": `<PNG of ${bytes.length} bytes>` };
  }
  if (bytes.readUInt16BE(0) === 0xffd8) {
    return { "image/jpeg": bytes.toString("base64"), "text/plain": `<JPEG of ${bytes.length} bytes>` };
  }
  return null;
};

const encoded = (data) => {
  const bundle = {};
  for (const [mime, content] of Object.entries(data ?? {})) {
    if (content === null || content === undefined) continue;
    if (ArrayBuffer.isView(content)) bundle[mime] = Buffer.from(content.buffer, content.byteOffset, content.byteLength).toString("base64");
    else bundle[mime] = mime.endsWith("json") || typeof content === "string" ? content : String(content);
  }
  return bundle;
};

const own = (value) => {
  // A proxy's traps are not ours to spring.
  if (types.isProxy(value)) return plain(inspected(value));
  if (value && typeof value === "object") {
    const display = value[DISPLAY];
    if (typeof display === "function") return { data: encoded(display.call(value)), leftOut: 0 };
    const picture = image(value);
    if (picture) return { data: picture, leftOut: 0 };
  }
  return plain(inspected(value));
};

/** The MIME types of a value, and how many characters of its text are left out. */
const bundle = (value) => {
  try {
    return own(value);
  } catch (error) {
    return plain(`<${typeof value} that cannot be shown: ${error?.message}>`);
  }
};

/** Shows values where the cell is read. */
const display = (...values) => {
  for (const value of values) {
    const { data, leftOut } = typeof value === "string" ? plain(value) : bundle(value);
    sendMarked("display_data", { data, metadata: {} }, { metadata: { left_out: leftOut } });
  }
};

module.exports = { bundle, display, inspected };
