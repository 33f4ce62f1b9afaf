import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, openSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import type { S3Address } from "../../src/adapter/s3/client.ts";
import { freePorts } from "./kafka.ts";
import { temporaryFolder } from "./process.ts";

const run = promisify(execFile);
const toolsFolder = join(import.meta.dirname, "../../node_modules/.cache/cluster/s3");
const program = join(toolsFolder, "versitygw");
const source = "github.com/versity/versitygw/cmd/versitygw@v1.8.0";
const startMsMax = 30_000;

export async function hasGo(): Promise<boolean> {
  if (existsSync(program)) return true;
  try {
    await run("go", ["version"]);
    return true;
  } catch {
    return false;
  }
}

/** Brings the server from Go's registry, once. It is compiled here, which takes minutes. */
async function installServer(): Promise<void> {
  if (existsSync(program)) return;
  mkdirSync(toolsFolder, { recursive: true });
  const env = { ...process.env, GOBIN: toolsFolder, CGO_ENABLED: "0" };
  await run("go", ["install", source], { env, maxBuffer: 16 * 1024 * 1024 });
}

/** A real S3 server on this machine, with one bucket. */
export class S3Server implements AsyncDisposable {
  readonly address: S3Address;
  readonly #folder: string;
  readonly #port: number;
  #process: ChildProcess | undefined;

  private constructor(folder: string, port: number) {
    this.#folder = folder;
    this.#port = port;
    this.address = {
      endpoint: `http://127.0.0.1:${port}`,
      region: "us-east-1",
      bucket: "objects",
      prefix: "",
      accessKey: "the-access-key",
      secretKey: "the-secret-key",
    };
  }

  static async start(): Promise<S3Server> {
    await installServer();
    const folder = await temporaryFolder();
    const [port] = await freePorts(1);
    const server = new S3Server(folder, port!);
    await mkdir(join(folder, "buckets/objects"), { recursive: true });
    await mkdir(join(folder, "metadata"));
    await server.launch();
    return server;
  }

  async launch(): Promise<void> {
    const output = openSync(join(this.#folder, "server.log"), "a");
    const { accessKey, secretKey, region } = this.address;
    const args = [
      "--access",
      accessKey,
      "--secret",
      secretKey,
      "--region",
      region,
      "--port",
      `127.0.0.1:${this.#port}`,
    ];
    const folders = ["posix", "--sidecar", join(this.#folder, "metadata"), join(this.#folder, "buckets")];
    this.#process = spawn(program, [...args, ...folders], { stdio: ["ignore", output, output] });
    for (const endMs = Date.now() + startMsMax; ; ) {
      try {
        await fetch(this.address.endpoint);
        return;
      } catch (error) {
        if (Date.now() > endMs) throw error;
      }
      await sleep(50);
    }
  }

  /** What a node needs to know of it. */
  env(prefix: string): Record<string, string> {
    const { endpoint, bucket, accessKey, secretKey } = this.address;
    return {
      SERVICE_CLUSTER_OBJECTS: `s3://${bucket}/${prefix}`,
      SERVICE_CLUSTER_OBJECTS_ENDPOINT: endpoint,
      SERVICE_CLUSTER_OBJECTS_ACCESS_KEY: accessKey,
      SERVICE_CLUSTER_OBJECTS_SECRET_KEY: secretKey,
    };
  }

  async kill(): Promise<void> {
    const child = this.#process;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, "exit");
    child.kill("SIGKILL");
    await exited;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    await rm(this.#folder, { recursive: true, force: true });
  }
}
