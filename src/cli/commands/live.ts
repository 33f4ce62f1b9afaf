import { spawnSync } from "node:child_process";
import { existsSync, watch } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { LiveClient, LiveFunctionError, ServiceError } from "../../client/index.ts";
import { CommandFailure } from "../command.ts";
import { type Context, parseJson, textOrFile } from "../context.ts";
import { buildFolder, writeApi } from "../live-folder.ts";
import type { Run } from "../spec.ts";

interface DeployReply {
  readonly version: string;
  readonly tick: string;
  readonly functions: readonly { readonly name: string; readonly kind: string }[];
  readonly changes: readonly string[];
}

/** Editors write a file in several steps. */
const settleMs = 100;

async function deployFolder(context: Context, folder: string, options: object = {}): Promise<DeployReply> {
  const modules = await buildFolder(folder);
  const reply = await context.clientWith({ url: context.liveUrl }).request<DeployReply>({
    method: "POST",
    path: "/service.live.v1.LiveService/Deploy",
    body: { namespace: context.namespaceName, modules, ...options },
    repeatable: false,
    kind: "write",
    signal: context.signal,
  });
  writeApi(folder, reply.functions);
  return reply;
}

function replyText({ version, functions, changes }: DeployReply, isDry: boolean): string {
  const head = isDry ? "would change:" : `version ${version}, ${functions.length} functions`;
  return [head, ...changes.map((change) => `  ${change}`)].join("\n");
}

export const deploy: Run = async (context) => {
  const dryRun = context.flag("dry-run");
  const expectedVersion = String(context.whole("expected-version") ?? 0);
  const options = { dryRun, allowDrops: context.flag("allow-drops"), expectedVersion };
  const reply = await deployFolder(context, context.arg(0), options);
  await context.out.value(reply, () => replyText(reply, dryRun));
  return undefined;
};

export const run: Run = async (context) => {
  const name = context.arg(0);
  // Functions have doubles, and larger integers as `$int64`.
  const args = parseJson("ARGS", textOrFile(context.args[1] ?? "{}"), JSON.parse) as Record<string, unknown>;
  const live = new LiveClient({ ...context.connection(), url: context.liveUrl, namespace: context.namespaceName });
  const value = await runEither(live, name, args, context.signal);
  await context.out.value(value, () => JSON.stringify(value, printable, 2));
  return undefined;
};

async function runEither(live: LiveClient, name: string, args: Record<string, unknown>, signal: AbortSignal) {
  try {
    return await live.query(name, args, { signal });
  } catch (error) {
    if (error instanceof LiveFunctionError) throw new CommandFailure(error.kind, error.message);
    const isMutation = error instanceof ServiceError && /is a mutation/.test(error.message);
    if (!isMutation) throw error;
    try {
      return await live.mutate(name, args, { signal });
    } catch (thrown) {
      throw thrown instanceof LiveFunctionError ? new CommandFailure(thrown.kind, thrown.message) : thrown;
    }
  }
}

function printable(_: string, value: unknown): unknown {
  if (typeof value === "bigint") return { $int64: String(value) };
  return value instanceof Uint8Array ? { $bytes: Buffer.from(value).toString("base64") } : value;
}

/** Deploys at every change until Ctrl-C. Errors are printed, and the next change tries again. */
export const dev: Run = async (context) => {
  const folder = context.arg(0);
  const say = (text: string) => context.out.say(text);
  await context.client.createNamespace(context.namespaceName, context).catch((error: unknown) => {
    if (!(error instanceof ServiceError && error.reason === "already_exists")) throw error;
  });
  let changed = true;
  let wake: () => void = () => undefined;
  const onChange = (_: string, file: string | null) => {
    if (file?.startsWith("_generated")) return;
    changed = true;
    wake();
  };
  using _watcher = closing(watch(resolve(folder), { recursive: true }, onChange));
  context.signal.addEventListener("abort", () => wake(), { once: true });
  while (!context.signal.aborted) {
    if (!changed) {
      await new Promise<void>((done) => {
        wake = done;
      });
      continue;
    }
    await sleep(settleMs);
    changed = false;
    try {
      const reply = await deployFolder(context, folder, {});
      say(replyText(reply, false));
      checkTypes(folder, say);
    } catch (error) {
      if (context.signal.aborted) break;
      say(error instanceof Error ? error.message : String(error));
    }
  }
  return undefined;
};

function closing(watcher: { close(): void }): Disposable {
  return { [Symbol.dispose]: () => watcher.close() };
}

/** With the project's own compiler, where the folder has settings for it. */
function checkTypes(folder: string, say: (text: string) => void): void {
  const compiler = resolve("node_modules/.bin/tsc");
  const settings = join(folder, "tsconfig.json");
  if (!existsSync(compiler) || !existsSync(settings)) return;
  const { status, stdout } = spawnSync(compiler, ["--noEmit", "-p", settings], { encoding: "utf8" });
  if (status !== 0) say(stdout.trim());
}
