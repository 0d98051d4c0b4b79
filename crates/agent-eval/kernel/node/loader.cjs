// What `node -e` is given: it reads the rest from standard input, so nothing is installed where it runs.
"use strict";
{
  const fs = require("node:fs");
  const size = Number(process.argv[1]);
  const boot = Buffer.alloc(size);
  for (let read = 0; read < size; ) {
    let count = 0;
    try {
      count = fs.readSync(0, boot, read, size - read, null);
    } catch (error) {
      if (error.code === "EAGAIN") continue;
      throw error;
    }
    if (count === 0) {
      fs.writeSync(2, "agent-eval: the input ended before the kernel had arrived\n");
      process.exit(1);
    }
    read += count;
  }
  const parsed = JSON.parse(boot);
  new Function("require", "boot", parsed.supervisor)(require, parsed);
}
