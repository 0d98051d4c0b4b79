// Calls notes-mcp through the official TypeScript client, which finds out by itself which revision a server speaks, and prints
// what came, as JSON. Read from standard input, in the folder that has the client: node --input-type=module - PROGRAM ROOT

import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const [program, root] = process.argv.slice(2);
const info = { name: "tests", version: "0" };
const server = () => new StdioClientTransport({ command: program, args: ["--root", root] });

// By default it speaks an older revision, and is told which one there is.
let old = null;
try {
  await new Client(info).connect(server());
} catch (error) {
  old = [error.code, error.data.supported];
}

const client = new Client(info, { versionNegotiation: { mode: "auto" } });
await client.connect(server());
const call = (name, args) => client.callTool({ name, arguments: args });
const { tools } = await client.listTools();
const found = await call("log_search", { text: "ERROR" });
const refused = await call("log_tail", { lines: 201 });
const plan = await call("log_rotate_plan", {});
const applied = [];
for (let round = 0; round < 2; round += 1) {
  const { plan_id } = plan.structuredContent;
  applied.push((await call("log_rotate_apply", { plan_id })).structuredContent);
}
let unknown = null;
try {
  await call("run_command", {});
} catch (error) {
  unknown = error.code;
}
console.log(
  JSON.stringify({
    tools: tools.map((tool) => tool.name),
    found: found.structuredContent.scanned_lines,
    refused: [refused.isError, refused.content[0].text],
    applied: applied.map((result) => result.status),
    unknown,
    old,
  }),
);
await client.close();
