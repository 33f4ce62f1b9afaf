/**
 * Calls the RPC edge with clients of other languages: Python's grpcio and Go's grpcurl, each where it is installed.
 *
 *   npm run test:interop [-- host:port]     without an address, a server is started for the occasion
 *
 * PYTHON and GRPCURL name the programs when they are not on the path. Nothing is installed.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { ServerProcess } from "../test/support/process.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const run = promisify(execFile);
const callMsMax = 120_000;

interface Outcome {
  readonly stdout: string;
  readonly stderr: string;
  readonly failed: boolean;
}

async function attempt(program: string, args: readonly string[]): Promise<Outcome> {
  try {
    return { ...(await run(program, args, { cwd: root, timeout: callMsMax })), failed: false };
  } catch (error) {
    const { stdout = "", stderr = String(error) } = error as Partial<Outcome>;
    return { stdout, stderr, failed: true };
  }
}

async function python(target: string): Promise<string> {
  const program = process.env["PYTHON"] ?? "python3";
  const found = await attempt(program, ["-c", "import grpc, google.protobuf"]);
  if (found.failed)
    return "grpcio: skipped, not installed: pip install grpcio protobuf, and name that Python in PYTHON";
  const script = join(root, "scripts", "interop-rpc.py");
  const { stdout, stderr, failed } = await attempt(program, [script, target, join(root, "proto", "baseline.binpb")]);
  assert.ok(!failed, stderr);
  return `${stdout.trim()}: passed`;
}

async function grpcurl(target: string): Promise<string> {
  const program = process.env["GRPCURL"] ?? "grpcurl";
  const found = await attempt(program, ["-version"]);
  if (found.failed) return "grpcurl: skipped, not installed: put it on the path, or name it in GRPCURL";
  const call = async (...args: string[]) => await attempt(program, ["-plaintext", ...args]);

  const listed = await call(target, "list");
  assert.match(listed.stdout, /^service\.instance\.v1\.InstanceService$/m, listed.stderr);
  const described = await call(target, "describe", "service.collection.v1.SearchRequest");
  assert.match(described.stdout, /repeated .*Retriever retrieve = 3;/, described.stderr);
  const instance = await call("-d", "{}", target, "service.instance.v1.InstanceService/GetInstance");
  assert.match(instance.stdout, /"instanceId": "[0-9A-Z]{26}"/, instance.stderr);
  const bad = await call("-d", '{"name":"?"}', target, "service.collection.v1.NamespaceService/CreateNamespace");
  assert.match(bad.stderr, /InvalidArgument[\s\S]*"reason": "invalid_argument"/, bad.stderr);
  const health = await call("-d", "{}", target, "grpc.health.v1.Health/Check");
  assert.match(health.stdout, /SERVING/, health.stderr);
  const watch = await call("-max-time", "1", "-d", "{}", target, "grpc.health.v1.Health/Watch");
  assert.match(watch.stdout, /SERVING/);
  assert.match(watch.stderr, /DeadlineExceeded/);
  return `${(found.stdout + found.stderr).trim()}: passed`;
}

async function callAll(target: string): Promise<void> {
  console.log(await python(target));
  console.log(await grpcurl(target));
}

const given = process.argv[2];
if (given === undefined) {
  await using server = await ServerProcess.start({ flags: ["--mode", "development"] });
  await callAll(new URL(server.url).host);
} else {
  await callAll(given);
}
