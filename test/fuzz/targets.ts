import type { Target } from "./target.ts";

/** Every target, loaded when it is asked for: what coverage has to count grows with every module. */
const loaders: Readonly<Record<string, () => Promise<Target>>> = {
  analyzers: async () => (await import("./targets/analyzers.ts")).analyzers,
  filters: async () => (await import("./targets/filters.ts")).filters,
  cloudevents: async () => (await import("./targets/cloudevents.ts")).cloudevents,
  "record-codec": async () => (await import("./targets/record-codec.ts")).recordCodecTarget,
  "record-batch": async () => (await import("./targets/record-batch.ts")).recordBatch,
  tokens: async () => (await import("./targets/tokens.ts")).tokens,
  segments: async () => (await import("./targets/segments.ts")).segments,
  arrow: async () => (await import("./targets/arrow.ts")).arrow,
  sql: async () => (await import("./targets/sql.ts")).sql,
  openapi: async () => (await import("./wire/openapi.ts")).openapi,
  http1: async () => (await import("./wire/http1.ts")).http1,
  http2: async () => (await import("./wire/http2.ts")).http2,
  postgres: async () => (await import("./wire/postgres.ts")).postgres,
  mysql: async () => (await import("./wire/mysql.ts")).mysql,
  rpc: async () => (await import("./wire/rpc.ts")).rpc,
  flight: async () => (await import("./wire/flight.ts")).flight,
};

export const targetNames: readonly string[] = Object.keys(loaders);

export async function findTargets(names: readonly string[]): Promise<Target[]> {
  return await Promise.all(
    names.map(async (name) => {
      const load = loaders[name];
      if (load === undefined) throw new Error(`there is no target ${name}; one of ${targetNames.join(", ")}`);
      return await load();
    }),
  );
}
