import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Document, Filter, Json } from "../../client/index.ts";
import { isWrittenNumber } from "../../client/json.ts";
import { CommandFailure, UsageError } from "../command.ts";
import { type Context, parseJson, parseWhole, textOrFile } from "../context.ts";
import type { Run } from "../spec.ts";

export const getDocument: Run = async (context) => {
  const id = parseWhole("ID", context.arg(1));
  const found = await context.namespace.collection(context.arg(0)).get(id, { signal: context.signal });
  if (found === undefined) throw new CommandFailure("not_found", `there is no document with the id ${id}`);
  await context.out.value(found, () => JSON.stringify(found, undefined, 2));
  return undefined;
};

export const countDocuments: Run = async (context) => {
  const filter = context.jsonOption("filter") as Filter | undefined;
  const count = await context.namespace.collection(context.arg(0)).count(filter, { signal: context.signal });
  await context.out.value({ count }, () => String(count));
  return undefined;
};

export const deleteDocuments: Run = async (context) => {
  const [name, ...ids] = context.args;
  const filter = context.jsonOption("filter") as Filter | undefined;
  if ((filter === undefined) === (ids.length === 0)) throw new UsageError("give either ids or --filter");
  const collection = context.namespace.collection(name!);
  const { signal } = context;
  let deleted: number;
  if (filter === undefined) {
    const reply = await collection.write(
      ids.map((id) => ({ delete: { id: parseWhole("ID", id) } })),
      { signal },
    );
    deleted = reply.results.filter(({ status }) => status === "deleted").length;
  } else deleted = await collection.deleteByFilter(filter, { signal });
  await context.out.value({ deleted }, () => (deleted === 1 ? "1 document deleted" : `${deleted} documents deleted`));
  return undefined;
};

/** Vectors that are given as `NAME:JSON`. */
function vectorsOf(context: Context): Record<string, readonly number[]> {
  return Object.fromEntries(
    context.all("vector").map((option) => {
      const colon = option.indexOf(":");
      if (colon < 1) throw new UsageError("--vector must be NAME:JSON or NAME:@FILE");
      return [option.slice(0, colon), parseJson("--vector", textOrFile(option.slice(colon + 1))) as readonly number[]];
    }),
  );
}

function parseSource(what: string, text: string): Json {
  const source = parseJson(what, text);
  if (typeof source !== "object" || source === null || Array.isArray(source) || isWrittenNumber(source)) {
    throw new UsageError(`${what} must be a JSON object`);
  }
  return source as Json;
}

export const putDocument: Run = async (context) => {
  const id = parseWhole("ID", context.arg(1));
  const source = parseSource("the document", textOrFile(context.args[2] ?? "-"));
  const vectors = vectorsOf(context);
  const document = { id, source, ...(Object.keys(vectors).length === 0 ? {} : { vectors }) };
  const op = context.flag("merge") ? { patch: document } : { upsert: document };
  const { results } = await context.namespace.collection(context.arg(0)).write([op], { signal: context.signal });
  const [{ status, version }] = results as [(typeof results)[number]];
  await context.out.value({ id, status, version }, () => `document ${id} ${status}, version ${version}`);
  return undefined;
};

/** The document goes to a file, the user's editor changes it, and it is written back unless somebody was faster. */
export const editDocument: Run = async (context) => {
  const id = parseWhole("ID", context.arg(1));
  const collection = context.namespace.collection(context.arg(0));
  const { signal } = context;
  const found = await collection.get(id, { signal });
  if (found === undefined) throw new CommandFailure("not_found", `there is no document with the id ${id}`);
  const { version, id: _, ...document } = found;
  const before = `${JSON.stringify(document, undefined, 2)}\n`;
  const folder = mkdtempSync(join(tmpdir(), "native-engine-"));
  const file = join(folder, `${context.arg(0)}-${id}.json`);
  try {
    writeFileSync(file, before, { mode: 0o600 });
    const editor = context.env["VISUAL"] || context.env["EDITOR"] || "vi";
    const { status, error } = spawnSync("sh", ["-c", `${editor} "$1"`, "sh", file], { stdio: "inherit" });
    if (error !== undefined || status !== 0)
      throw new CommandFailure("failed", `the editor ${editor} failed`, "set EDITOR");
    const after = readFileSync(file, "utf8");
    if (after === before) {
      await context.out.value({ id, status: "noop", version }, () => `document ${id} unchanged`);
      return undefined;
    }
    const changed = parseSource("the edited document", after) as unknown as Omit<Document, "id" | "version">;
    const { results } = await collection.write([{ upsert: { ...changed, id, if_version: version } }], { signal });
    const [{ status: done, version: now }] = results as [(typeof results)[number]];
    if (done === "condition_failed") {
      throw new CommandFailure("conflict", `document ${id} was changed in the meantime`, "edit it again");
    }
    await context.out.value({ id, status: done, version: now }, () => `document ${id} ${done}, version ${now}`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return undefined;
};
