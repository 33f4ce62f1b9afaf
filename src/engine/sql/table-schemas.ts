/** The schemas that a namespace has in SQL; every table is in one of them. */
export const tableSchemas = ["collections", "streams", "links", "counters", "live"] as const;

export type TableSchema = (typeof tableSchemas)[number];

export function isTableSchema(name: string): name is TableSchema {
  return (tableSchemas as readonly string[]).includes(name);
}
