import { EngineError, invalid } from "../errors.ts";
import { limits } from "../limits.ts";
import type { Steps } from "../turns.ts";
import { documentFields } from "./document.ts";
import { parseTableName } from "./schema.ts";
import type { LiveTable } from "./table.ts";
import type { Transaction } from "./transaction.ts";
import type { Fields } from "./validator.ts";
import type { LiveObject, LiveValue } from "./value.ts";

/** A function that every namespace has. It runs in the server itself. */
export interface BuiltIn {
  readonly kind: "query" | "mutation";
  readonly args: Fields;
  run(transaction: Transaction, args: LiveObject): Steps<LiveValue>;
}

const text = { type: "string" } as const;
const any = { type: "any" } as const;
const maybe = { type: "any", optional: true } as const;

function query(args: Fields, run: BuiltIn["run"]): BuiltIn {
  return { kind: "query", args, run };
}

function mutation(args: Fields, run: (transaction: Transaction, args: LiveObject) => LiveValue): BuiltIn {
  return {
    kind: "mutation",
    args,
    // biome-ignore lint/correctness/useYield: a write is one step.
    *run(transaction, args) {
      return run(transaction, args);
    },
  };
}

/** What `_tables:create` makes is not in a transaction: see `Live`. */
export const createTable = "_tables:create";
export const createTableArgs: Fields = { table: text, fields: maybe, indexes: maybe };
export const setEvents = "_tables:events";
export const setEventsArgs: Fields = { table: text, stream: { type: "union", of: [text, { type: "null" }] } };
/** Those that change what there is, rather than data in it. */
export const administrative: ReadonlySet<string> = new Set([createTable, setEvents]);

/** The table that a built-in mutation names, as the end of a path; empty where it names none. */
export function tablePathIn(args: unknown): string {
  const table = (args as { readonly table?: unknown } | null | undefined)?.table;
  return typeof table === "string" ? `/${encodeURIComponent(table.slice(0, limits.nameLengthMax))}` : "";
}

export const builtIns: ReadonlyMap<string, BuiltIn> = new Map([
  [
    "_tables:list",
    query({ table: { ...text, optional: true }, limit: maybe, order: maybe }, function* (transaction, args) {
      const table = args["table"];
      if (table === undefined) return transaction.tables().map(describeTable);
      const { documents } = yield* transaction.scan({
        table: table as string,
        order: orderOf(args["order"]),
        limit: limitOf(args["limit"]),
      });
      return documents.map(documentFields);
    }),
  ],
  [
    "_tables:get",
    // biome-ignore lint/correctness/useYield: a read is one step.
    query({ id: text }, function* (transaction, { id }) {
      const found = transaction.get("args.id", id);
      return found === undefined ? null : documentFields(found);
    }),
  ],
  [
    "_tables:count",
    query({ table: text }, function* (transaction, { table }) {
      return yield* transaction.count({ table: table as string });
    }),
  ],
  [
    "_tables:insert",
    mutation({ table: text, document: any }, (transaction, { table, document }) =>
      transaction.insert("args.document", table as string, document),
    ),
  ],
  [
    "_tables:patch",
    mutation({ id: text, patch: any }, (transaction, { id, patch }) => {
      transaction.patch("args.id", id, { patch, patchPath: "args.patch" });
      return null;
    }),
  ],
  [
    "_tables:replace",
    mutation({ id: text, document: any }, (transaction, { id, document }) => {
      transaction.replace("args.id", id, document, "args.document");
      return null;
    }),
  ],
  [
    "_tables:remove",
    mutation({ id: text }, (transaction, { id }) => {
      transaction.remove("args.id", id);
      return null;
    }),
  ],
]);

export function describeTable({ name, fields, indexes, events }: LiveTable): LiveObject {
  return {
    table: name,
    ...(fields === undefined ? {} : { fields: fields as unknown as LiveObject }),
    indexes: indexes.map((index) => ({ name: index.name, fields: [...index.fields] })),
    ...(events === undefined ? {} : { events }),
  };
}

function orderOf(order: LiveValue | undefined): "asc" | "desc" | undefined {
  if (order === undefined || order === "asc" || order === "desc") return order;
  throw invalid("args.order", "must be asc or desc");
}

function limitOf(limit: LiveValue | undefined): number {
  if (limit === undefined) return Number.MAX_SAFE_INTEGER;
  if (typeof limit === "number" && Number.isSafeInteger(limit) && limit > 0) return limit;
  throw invalid("args.limit", "must be an integer from 1");
}

/** Null where the same table exists already. */
export function newTable(
  name: LiveValue | undefined,
  definition: Omit<LiveTable, "name" | "number">,
  existing: ReadonlyMap<string, LiveTable>,
  number: number,
): LiveTable | null {
  const table: LiveTable = { ...definition, name: parseTableName("args.table", name), number };
  const known = existing.get(table.name);
  if (known === undefined) return table;
  if (JSON.stringify(describeTable({ ...known, events: undefined })) === JSON.stringify(describeTable(table)))
    return null;
  throw new EngineError("already_exists", `table ${JSON.stringify(table.name)} already exists with another schema`);
}
