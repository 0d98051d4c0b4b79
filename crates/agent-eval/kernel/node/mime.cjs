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
    ? inspect(value, { maxStringLength: PLAIN_LIMIT })
    : inspect(value, { depth: 4, maxArrayLength: 200, maxStringLength: 20_000, breakLength: 100 });

const clip = (text) => {
  if (text.length <= PLAIN_LIMIT) return text;
  const cut = text.length - PLAIN_HEAD - PLAIN_TAIL;
  return `${text.slice(0, PLAIN_HEAD)}\n… ${cut} characters left out …\n${text.slice(-PLAIN_TAIL)}`;
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
  if (types.isProxy(value)) return { "text/plain": inspected(value) };
  if (value && typeof value === "object") {
    const display = value[DISPLAY];
    if (typeof display === "function") return encoded(display.call(value));
    const picture = image(value);
    if (picture) return picture;
  }
  return { "text/plain": clip(inspected(value)) };
};

/** The MIME types of a value. */
const bundle = (value) => {
  try {
    return own(value);
  } catch (error) {
    return { "text/plain": `<${typeof value} that cannot be shown: ${error?.message}>` };
  }
};

/** Shows values where the cell is read. */
const display = (...values) => {
  for (const value of values) {
    const data = typeof value === "string" ? { "text/plain": clip(value) } : bundle(value);
    sendMarked("display_data", { data, metadata: {} });
  }
};

module.exports = { bundle, display, inspected };
