// The worker thread that owns the protocol's pipe: it reads while the main thread is stuck, and ends the group when the
// host is gone.
"use strict";

// Runs in the worker, from its text.
function serve() {
  const { workerData } = require("node:worker_threads");
  const net = require("node:net");
  const { port } = workerData;
  const socket = new net.Socket({ fd: 3, readable: true, writable: true });
  let count = 0;
  const line = (message) => {
    const header = {
      msg_id: message.id || `k${++count}`,
      username: "",
      session: "",
      date: "1970-01-01T00:00:00Z",
      msg_type: message.kind,
      version: "5.4",
    };
    const whole = { header, parent_header: message.parent ?? {}, metadata: message.metadata ?? {}, content: message.content };
    return JSON.stringify(whole) + "\n";
  };
  port.on("message", (messages) => socket.write(messages.map(line).join("")));
  let pending = [];
  socket.on("data", (data) => {
    let from = 0;
    for (let end = data.indexOf(10); end >= 0; end = data.indexOf(10, from)) {
      pending.push(data.subarray(from, end));
      const message = JSON.parse(Buffer.concat(pending));
      pending = [];
      from = end + 1;
      const kind = message.header.msg_type;
      if (kind === "execute_request") port.postMessage({ execute: message });
      else if (kind === "tool_reply") port.postMessage({ id: message.parent_header.msg_id, reply: message.content });
    }
    if (from < data.length) pending.push(data.subarray(from));
  });
  const end = () => {
    try {
      process.kill(-process.pid, "SIGKILL");
    } finally {
      process.kill(process.pid, "SIGKILL");
    }
  };
  for (const event of ["end", "close", "error"]) socket.on(event, end);
}

module.exports = { source: `"use strict";(${serve})()` };
