// The parent of the kernel inside its environment. It needs nothing of the host but three pipes.
//
// What the kernel and its children write is read here, outside of it. Frames to the host: kind (1 byte), length (4 bytes,
// little-endian), payload. `p` protocol, `o` and `e` the kernel's outputs, `x` how it ended, as `wait` tells it. Frames from the
// host: `m` protocol, `s` a signal for the process (`p`) or its group (`g`).
"use strict";
const { spawn } = require("node:child_process");
const os = require("node:os");

const HEADER = 5;
// How long what the kernel left in the pipes is waited for once it has ended: a child of it may hold them open.
const REST_MS = 300;

// The kernel's own loader: its source comes over the protocol's pipe, before any message.
const LOADER = `
// In a block: what a script declares at its top is declared for the cells too.
{
  const fs = require("node:fs");
  const size = Number(process.argv[1]);
  const source = Buffer.alloc(size);
  for (let read = 0; read < size; ) read += fs.readSync(3, source, read, size - read, null);
  process.argv.splice(1);
  const boot = JSON.parse(source);
  const loaded = {};
  const load = (name) => (name.startsWith("agent:") ? loaded[name.slice(6)] : require(name));
  for (const [name, source] of boot.modules) {
    const module = { exports: {} };
    const options = { filename: "[agent-eval]/" + name };
    require("node:vm").compileFunction(source, ["module", "require", "boot"], options)(module, load, boot);
    loaded[name] = module.exports;
  }
  loaded.main.run(boot);
}`;


const source = Buffer.from(JSON.stringify(boot));
const limits = boot.memory_bytes ? [`--max-old-space-size=${Math.max(16, Math.floor(boot.memory_bytes / 1048576))}`] : [];
// Node has no way to double a descriptor, and the marks need outputs that no cell closes by their number.
const DOUBLE = 'exec 4>&1 5>&2; exec "$0" "$@"';
const program = [process.execPath, ...limits, "-e", LOADER, String(source.length)];
const kernel = spawn("/bin/sh", ["-c", DOUBLE, ...program], {
  stdio: ["ignore", "pipe", "pipe", "pipe"],
  // A session of its own: no terminal, and a group that can be ended as one.
  detached: true,
});
const protocol = kernel.stdio[3];
protocol.write(source);

const signal = (scope, number) => {
  try {
    process.kill(scope === 0x67 ? -kernel.pid : kernel.pid, number);
  } catch {
    // It is gone.
  }
};
const kill = () => {
  signal(0x67, "SIGKILL");
  signal(0x70, "SIGKILL");
};

const sources = [kernel.stdout, kernel.stderr, protocol];
let full = false;
const send = (kind, payload) => {
  const header = Buffer.alloc(HEADER);
  header.write(kind, 0, "latin1");
  header.writeUInt32LE(payload.length, 1);
  if (!process.stdout.write(Buffer.concat([header, payload])) && !full) {
    full = true;
    for (const source of sources) source.pause();
    process.stdout.once("drain", () => {
      full = false;
      for (const source of sources) source.resume();
    });
  }
};
// A frame holds 1 MiB at most.
const forward = (kind) => (data) => {
  for (let at = 0; at < data.length; at += 1 << 19) send(kind, data.subarray(at, at + (1 << 19)));
};
kernel.stdout.on("data", forward("o"));
kernel.stderr.on("data", forward("e"));
protocol.on("data", forward("p"));
for (const source of sources) source.on("error", () => {});

let pending = Buffer.alloc(0);
process.stdin.on("data", (data) => {
  pending = pending.length ? Buffer.concat([pending, data]) : data;
  while (pending.length >= HEADER) {
    const end = HEADER + pending.readUInt32LE(1);
    if (pending.length < end) return;
    const payload = pending.subarray(HEADER, end);
    if (pending[0] === 0x6d) protocol.write(Buffer.from(payload));
    else if (pending[0] === 0x73) signal(payload[0], payload[1]);
    pending = pending.subarray(end);
  }
});
// Whoever owned this is gone: nothing of the kernel outlives it.
const orphaned = () => {
  kill();
  process.exit(0);
};
process.stdin.on("end", orphaned);
process.stdin.on("error", orphaned);
process.stdout.on("error", orphaned);
process.on("SIGINT", () => {});

const finish = (code, name) => {
  const status = Buffer.alloc(4);
  status.writeInt32LE(name ? os.constants.signals[name] : (code ?? 0) << 8);
  send("x", status);
  kill();
  process.stdout.write("", () => process.exit(0));
};
let ended = null;
kernel.on("exit", (code, name) => {
  ended = setTimeout(() => finish(code, name), REST_MS);
});
kernel.on("close", (code, name) => {
  clearTimeout(ended);
  finish(code, name);
});
