import { NodeClock } from "../../../src/adapter/node/clock.ts";
import { NodeRandom } from "../../../src/adapter/node/random.ts";
import { flightService } from "../../../src/edge/flight/server.ts";
import { peerOf, principalOf } from "../../../src/edge/rpc/call.ts";
import { ByteBudget } from "../../../src/edge/wire/byte-budget.ts";
import { EngineError, invalid } from "../../../src/engine/errors.ts";
import { limits } from "../../../src/engine/limits.ts";
import type { SqlBatch } from "../../../src/engine/sql/batch.ts";
import type { Sql, SqlResult, SqlStatement, SqlTable } from "../../../src/engine/sql/sql.ts";
import type { SqlColumnInfo } from "../../../src/engine/sql/type.ts";
import { type ServerOptions, startServer } from "../rpc/server.ts";

/**
 * An engine whose statements say how they go: `rows 5000`, `fail after 2`, `wait`. What a wire does with a slow, a broken
 * and an endless result can be seen only where the result is so at will.
 */
export class ScriptedSql implements Sql {
  readonly statements: SqlStatement[] = [];
  /** Batches taken, and results that were disposed of. */
  taken = 0;
  disposed = 0;
  readonly tablesOf: Record<string, readonly SqlTable[]> = {};

  async describe({ query, params }: Omit<SqlStatement, "token" | "consistency">) {
    if (query.startsWith("bad")) throw invalid("query", "syntax error at or near bad");
    const parameters = query.includes("?") ? [params[0]?.type] : [];
    return { kind: "select" as const, columns, parameters };
  }

  columnsOf() {
    return undefined;
  }

  async run(statement: SqlStatement, signal?: AbortSignal): Promise<SqlResult> {
    this.statements.push(statement);
    if (statement.query.startsWith("bad")) throw invalid("query", "syntax error at or near bad");
    const [, verb, number] = /^(\w+)(?: after)? ?(\d*)/.exec(statement.query) ?? [];
    const count = verb === "rows" ? Math.ceil(Number(number) / rowsOfBatch) : Number(number || "0");
    let given = 0;
    return {
      kind: "select",
      columns,
      token: [{ stream: 7, partition: 0, offset: 41 }],
      next: async () => {
        if (signal?.aborted === true) throw signal.reason;
        if (verb === "wait" && given === 1) await untilAborted(signal!);
        if (verb === "fail" && given === count) throw new EngineError("resource_exhausted", "memory limit passed");
        if (verb !== "wait" && given === count) return undefined;
        this.taken++;
        return batch(given++ * rowsOfBatch, rowsOfBatch);
      },
      [Symbol.asyncDispose]: async () => {
        this.disposed++;
      },
    };
  }

  async tables(namespace: string): Promise<readonly SqlTable[]> {
    return this.tablesOf[namespace] ?? [];
  }
}

export const rowsOfBatch = 2048;

const columns: readonly SqlColumnInfo[] = [
  { name: "n", type: { kind: "int64" } },
  { name: "t", type: { kind: "text" } },
];

function batch(from: number, rows: number): SqlBatch {
  const numbers = BigInt64Array.from({ length: rows }, (_, i) => BigInt(from + i));
  const data = Buffer.from("abcdefgh".repeat(rows));
  const offsets = Int32Array.from({ length: rows + 1 }, (_, i) => 8 * i);
  return {
    rows,
    columns: [
      { layout: "fixed", type: columns[0]!.type, validity: undefined, data: numbers },
      { layout: "bytes", type: columns[1]!.type, validity: undefined, offsets, data },
    ],
  };
}

async function untilAborted(signal: AbortSignal): Promise<never> {
  return await new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}

export async function startFlight(sql: Sql, namespaces: readonly string[], options: ServerOptions["rpc"] = {}) {
  const { authenticator } = options;
  const service = flightService({
    sql,
    namespaces: () => namespaces,
    version: "0.1.0",
    clock: new NodeClock(),
    random: new NodeRandom(),
    keptBytes: new ByteBudget(limits.keptBytesMax),
    authenticate: async (request) => {
      if (authenticator === undefined) return (await import("../../../src/engine/auth/principal.ts")).devLoopback;
      return await authenticator.authenticate(request);
    },
    principalOf,
    peerOf,
  });
  return await startServer({ rpc: { ...options, services: [service] } });
}
