import { ChildProcesses } from "../../src/adapter/children/children.ts";

/** A parent that a test kills: tells the id of its child, which is busy with what the argument says. */
const MiB = 1024 * 1024;
const children = new ChildProcesses({
  entry: new URL("./children-process.ts", import.meta.url),
  data: {},
  dataBytesMax: 2048 * MiB,
  residentBytesMax: 1024 * MiB,
});
// Waiting for an idle child alone does not keep it alive.
setInterval(() => {}, 1000);
const child = children.take();
const pid = await child.request({ kind: "pid" });
child.post({ kind: process.argv[2] });
process.stdout.write(`${pid}\n`);
