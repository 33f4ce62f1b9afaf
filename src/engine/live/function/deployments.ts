import type { Bundle, Bundler, SourceModule } from "../../../port/bundler.ts";
import { BundleFault } from "../../../port/bundler.ts";
import type { Clock } from "../../../port/clock.ts";
import type { Store, WriteOp } from "../../../port/store.ts";
import type { Committer } from "../../commit/committer.ts";
import { conflict, EngineError, invalid } from "../../errors.ts";
import { makeKey, tables } from "../../keys.ts";
import { decode, encode } from "../../stored-value.ts";
import { runInTurns, type Steps } from "../../turns.ts";
import { parseOwnFields } from "../document.ts";
import { formatId } from "../document-id.ts";
import { FunctionFault } from "../fault.ts";
import type { DeployedFunction, LiveMeta } from "../live-meta.ts";
import type { LiveNamespace } from "../live-namespace.ts";
import { parseSchema, type SchemaDefinition } from "../schema.ts";
import { type LiveSettings, liveLimits } from "../settings.ts";
import { creationOrder, type LiveIndex, type LiveTable, placeIn } from "../table.ts";
import { fieldsMisfit, parseFields, parseValidator } from "../validator.ts";
import { isObject, type LiveObject, type LiveValue } from "../value.ts";
import { encodeEntry, liveKeys } from "../view.ts";
import { functionChanges, isNew, planTables, type TablePlan } from "./deployment-plan.ts";
import { type RunnerPool, rerun } from "./runner-pool.ts";

export interface DeployRequest {
  readonly modules: readonly SourceModule[];
  /** Undefined: as the module `schema` says, or as it is. */
  readonly schema: LiveObject | undefined;
  /** 0: any. */
  readonly expectedVersion: number;
  readonly dryRun: boolean;
  readonly allowDrops: boolean;
}

export interface Deployed {
  readonly version: number;
  readonly tick: number;
  readonly functions: readonly DeployedFunction[];
  readonly changes: readonly string[];
}

export interface DeploymentsDeps {
  readonly store: Store;
  readonly committer: Committer;
  readonly clock: Clock;
  readonly bundler: Bundler | undefined;
  readonly runners: RunnerPool;
  readonly settings: LiveSettings;
}

interface Described {
  readonly functions: readonly DeployedFunction[];
  readonly schema: LiveValue;
}

const pathPattern = /^[A-Za-z][A-Za-z0-9_-]*(?:\/[A-Za-z0-9_-]+)*$/;

const rowsPerStep = 64;

const backfillBytes = 1024 * 1024;

/** Replaces a namespace's functions and schema, all of them or nothing. */
export class Deployments {
  readonly #deps: DeploymentsDeps;
  #described = 0;

  constructor(deps: DeploymentsDeps) {
    this.#deps = deps;
  }

  async deploy(namespace: LiveNamespace, request: DeployRequest): Promise<Deployed> {
    const { settings } = this.#deps;
    const modules = parseModules(request.modules);
    const bundle = await this.#bundle(modules);
    const { functions, schema: own } = await this.#describe(namespace, bundle);
    const input = request.schema ?? (isObject(own) ? own : undefined);
    const schema = input === undefined ? undefined : parseSchema("schema", input, settings);
    const leave = await namespace.gate.alone();
    try {
      await namespace.settle();
      return await this.#replace(namespace, request, bundle, functions, schema);
    } finally {
      leave();
    }
  }

  async #replace(
    namespace: LiveNamespace,
    request: DeployRequest,
    bundle: Bundle,
    functions: readonly DeployedFunction[],
    schema: SchemaDefinition | undefined,
  ): Promise<Deployed> {
    const { clock } = this.#deps;
    const { meta } = namespace;
    if (request.expectedVersion !== 0 && request.expectedVersion !== meta.version) {
      throw conflict(`expected_version: the deployed version is ${meta.version}, not ${request.expectedVersion}`);
    }
    const plan = planTables(meta, schema);
    const changes = [...plan.changes, ...functionChanges(meta.functions, functions)];
    if (changes.length === 0 && this.#isOtherCode(namespace, bundle)) changes.push("change code");
    if (!request.allowDrops) this.#checkDrops(namespace, plan.droppedTables);
    await runInTurns(this.#checkStored(namespace, plan), clock);
    if (request.dryRun) return { version: meta.version, tick: namespace.durable.tick, functions, changes };
    const added = plan.tables.flatMap((table) => table.indexes.filter(isNew).map((index) => ({ table, index })));
    const filled = added.filter(({ table }) => namespace.tablesByNumber.has(table.number));
    if (filled.length > 0) {
      // Named as garbage first: what a crash leaves of them is swept, and no later index has their numbers.
      await namespace.changeMeta({ ...meta, nextNumber: plan.nextNumber }, (draft) => {
        for (const { table, index } of filled) draft.put(markerKey(namespace, table, index.number), Buffer.alloc(0));
      });
      for (const { table, index } of filled) await this.#backfill(namespace, table, index);
    }
    const version = meta.version + 1;
    const next: LiveMeta = { version, nextNumber: plan.nextNumber, tables: plan.tables, functions };
    const stored = encode({ code: bundle.code, map: bundle.map });
    const { tick } = await namespace.changeMeta(next, (draft) => {
      draft.put(makeKey(tables.liveBundle, namespace.id, version), stored);
      // Runs of the one before may still be under way.
      if (version > 2) draft.delete(makeKey(tables.liveBundle, namespace.id, version - 2));
      for (const { table, index } of filled) draft.delete(markerKey(namespace, table, index.number));
      for (const table of plan.droppedTables) draft.put(markerKey(namespace, table, 0), Buffer.alloc(0));
      for (const { table, index } of plan.droppedIndexes) {
        draft.put(markerKey(namespace, table, index.number), Buffer.alloc(0));
      }
    });
    return { version, tick, functions, changes };
  }

  async #bundle(modules: readonly SourceModule[]): Promise<Bundle> {
    const { bundler } = this.#deps;
    if (bundler === undefined) throw new EngineError("not_implemented", "this process runs no functions");
    try {
      return await bundler.bundle(modules);
    } catch (error) {
      if (!(error instanceof BundleFault)) throw error;
      const at = modules.findIndex(({ path }) => path === error.path);
      throw invalid(at < 0 ? "modules" : `modules[${at}].source`, error.message.slice(0, 1_000));
    }
  }

  /** Runs the modules once to see what they export. */
  async #describe(namespace: LiveNamespace, { code }: Bundle): Promise<Described> {
    try {
      const bundle = `${namespace.id}/described/${++this.#described}`;
      const request = { describe: true, seed: 1, nowMs: 0 };
      const job = { bundle, name: bundle, code: () => code, request, answer: async () => "[]" };
      const { end } = await rerun((losses) => this.#deps.runners.run({ ...job, losses }));
      if (end.error !== undefined) throw new FunctionFault("thrown", end.error.message);
      return parseDescribed(end.value ?? null);
    } catch (error) {
      if (error instanceof FunctionFault) throw invalid("modules", error.message.slice(0, 1_000));
      throw error;
    }
  }

  /** Than the one that is deployed. */
  #isOtherCode({ id, meta }: LiveNamespace, { code }: Bundle): boolean {
    const stored = this.#deps.store.get(makeKey(tables.liveBundle, id, meta.version));
    return stored !== undefined && decode<Bundle>(stored).code !== code;
  }

  #checkDrops(namespace: LiveNamespace, dropped: readonly LiveTable[]): void {
    for (const table of dropped) {
      for (const _ of namespace.staged().view.rows(table.number, creationOrder, "", undefined, false)) {
        const message = `the table ${table.name} holds documents and is not in the schema: allow_drops drops it`;
        throw new EngineError("failed_precondition", message);
      }
    }
  }

  /** Throws `failed_precondition` where a stored document does not fit. */
  *#checkStored(namespace: LiveNamespace, plan: TablePlan): Steps<void> {
    using state = namespace.durableView();
    const numbers = new Map(plan.tables.map((table) => [table.name, table.number]));
    for (const table of plan.tables) {
      const before = namespace.tablesByNumber.get(table.number);
      if (before === undefined) continue;
      const isSame = JSON.stringify(before.fields) === JSON.stringify(table.fields);
      if ((isSame || table.fields === undefined) && !table.indexes.some(isNew)) continue;
      let rows = 0;
      for (const row of state.view.rows(table.number, creationOrder, "", undefined, false)) {
        if (++rows % rowsPerStep === 0) yield;
        const document = parseOwnFields(row.load()!.json);
        const misfit =
          table.fields === undefined
            ? undefined
            : fieldsMisfit("", table.fields, document, (name) => numbers.get(name));
        const problem = misfit === undefined ? indexMisfit(table, document) : `${misfit.path} ${misfit.message}`;
        if (problem === undefined) continue;
        const id = formatId({ table: table.number, key: row.documentKey });
        throw new EngineError("failed_precondition", `the document ${id} of ${table.name} does not fit: ${problem}`);
      }
    }
  }

  async #backfill(namespace: LiveNamespace, table: LiveTable, index: LiveIndex): Promise<void> {
    const { clock, committer } = this.#deps;
    let after = "";
    for (;;) {
      const { ops, last } = await runInTurns(backfillPage(namespace, table, index, after), clock);
      if (last === undefined) return;
      after = `${last}\0`;
      await committer.submit((draft) => draft.add(ops), backfillBytes);
    }
  }
}

/** Entries of the next documents, as many as one commit takes. */
function* backfillPage(
  namespace: LiveNamespace,
  table: LiveTable,
  index: LiveIndex,
  after: string,
): Steps<{ ops: WriteOp[]; last: string | undefined }> {
  using state = namespace.durableView();
  const ops: WriteOp[] = [];
  let last: string | undefined;
  let bytes = 0;
  for (const row of state.view.rows(table.number, creationOrder, after, undefined, false)) {
    if (ops.length % rowsPerStep === rowsPerStep - 1) yield;
    const { key } = placeIn(table, index, parseOwnFields(row.load()!.json), row.documentKey);
    const entry = liveKeys.index(namespace.id, table.number, index.number, key);
    ops.push({ kind: "put", key: entry, value: encodeEntry(0) });
    last = row.key;
    bytes += entry.length + 64;
    if (bytes > backfillBytes) break;
  }
  return { ops, last };
}

function indexMisfit(table: LiveTable, document: LiveObject): string | undefined {
  try {
    for (const index of table.indexes.filter(isNew)) placeIn(table, index, document, "");
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

function markerKey(namespace: LiveNamespace, table: LiveTable, index: number): Buffer {
  return makeKey(tables.droppedLiveTable, namespace.id, table.number, index);
}

function parseModules(modules: readonly SourceModule[]): SourceModule[] {
  if (modules.length > liveLimits.modulesMax) throw invalid("modules", `there are more than ${liveLimits.modulesMax}`);
  let bytes = 0;
  const paths = new Set<string>();
  return modules.map(({ path: written, source, sourceMap }, i) => {
    const path = written.replace(/^\.\//, "").replace(/\.[cm]?js$/, "");
    if (!pathPattern.test(path) || path.length > 200) {
      throw invalid(`modules[${i}].path`, "has letters, digits, _, - and / and starts with a letter");
    }
    if (paths.has(path)) throw invalid(`modules[${i}].path`, `the module ${path} is given twice`);
    paths.add(path);
    bytes += source.length;
    if (bytes > liveLimits.bundleBytesMax)
      throw invalid("modules", `take more than ${liveLimits.bundleBytesMax} bytes`);
    return { path, source, sourceMap };
  });
}

/** It comes from the bundle: nothing of it is to be trusted. */
function parseDescribed(value: LiveValue): Described {
  const { functions, schema = null } = isObject(value) ? value : {};
  if (!Array.isArray(functions)) throw invalid("modules", "can't be described");
  const parsed = functions.map((each: LiveValue): DeployedFunction => {
    const { name, kind, args = null, returns = null } = isObject(each) ? each : {};
    if (typeof name !== "string" || (kind !== "query" && kind !== "mutation"))
      throw invalid("modules", "can't be described");
    return {
      name,
      kind,
      ...(args === null ? {} : { args: parseFields(`${name}.args`, args) }),
      ...(returns === null ? {} : { returns: parseValidator(`${name}.returns`, returns) }),
    };
  });
  return { functions: parsed, schema };
}
