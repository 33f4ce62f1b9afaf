import { createHash } from "node:crypto";

/** The numbers of what is always there, as in Postgres. */
export const fixedOids = {
  pg_catalog: 11,
  information_schema: 13_000,
  collections: 16_384,
  streams: 16_385,
  links: 16_386,
  counters: 16_387,
  live: 16_388,
  owner: 10,
  heap: 2,
  btree: 403,
  tablespace: 1_663,
} as const;

/** Tables whose numbers clients ask for by name (`'pg_class'::regclass`). */
export const catalogOids: Readonly<Record<string, number>> = {
  pg_type: 1247,
  pg_attribute: 1249,
  pg_proc: 1255,
  pg_class: 1259,
  pg_database: 1262,
  pg_authid: 1260,
  pg_namespace: 2615,
  pg_constraint: 2606,
  pg_attrdef: 2604,
  pg_index: 2610,
  pg_description: 2609,
  pg_extension: 3079,
  pg_trigger: 2620,
  pg_rewrite: 2618,
  pg_operator: 2617,
  pg_language: 2612,
  pg_am: 2601,
  pg_enum: 3501,
  pg_policy: 3256,
  pg_foreign_server: 1417,
  pg_foreign_data_wrapper: 2328,
  pg_tablespace: 1213,
};

/** As the macro of the same name: a number that stays, whatever else there is. */
export function tableOid(schema: string, table: string): number {
  const digest = createHash("md5").update(`${schema}.${table}`).digest();
  return Number(digest.readBigUInt64LE(0) % 1_000_000_000n) + 100_000;
}
