import type { DeployedFunction, LiveMeta } from "../live-meta.ts";
import type { SchemaDefinition } from "../schema.ts";
import type { LiveIndex, LiveTable } from "../table.ts";

export function isNew(index: LiveIndex): boolean {
  return index.since < 0;
}

export interface TablePlan {
  readonly tables: readonly LiveTable[];
  readonly nextNumber: number;
  readonly droppedTables: readonly LiveTable[];
  readonly droppedIndexes: readonly { readonly table: LiveTable; readonly index: LiveIndex }[];
  readonly changes: readonly string[];
}

export function planTables(meta: LiveMeta, schema: SchemaDefinition | undefined): TablePlan {
  let { nextNumber } = meta;
  const changes: string[] = [];
  const droppedIndexes: { table: LiveTable; index: LiveIndex }[] = [];
  if (schema === undefined) return { tables: meta.tables, nextNumber, droppedTables: [], droppedIndexes, changes };
  const existing = new Map(meta.tables.map((table) => [table.name, table]));
  const planned = Object.entries(schema.tables).map(([name, { fields, indexes }]): LiveTable => {
    const before = existing.get(name);
    const number = before?.number ?? nextNumber++;
    if (before === undefined) changes.push(`create table ${name}`);
    else if (JSON.stringify(before.fields) !== JSON.stringify(fields)) changes.push(`change fields of ${name}`);
    const sameBefore = (index: { name: string; fields: readonly string[] }) =>
      before?.indexes.find((each) => each.name === index.name && each.fields.join() === index.fields.join());
    for (const index of before?.indexes ?? []) {
      if (indexes.some((each) => sameBefore(each) === index)) continue;
      changes.push(`drop index ${name}.${index.name}`);
      droppedIndexes.push({ table: before!, index });
    }
    const nextIndexes = indexes.map((index): LiveIndex => {
      const same = sameBefore(index);
      if (same !== undefined) return same;
      changes.push(`create index ${name}.${index.name}`);
      return { ...index, number: nextNumber++, since: -1 };
    });
    return { name, number, fields, indexes: nextIndexes, events: before?.events };
  });
  const droppedTables = meta.tables.filter(({ name }) => !Object.hasOwn(schema.tables, name));
  for (const { name } of droppedTables) changes.push(`drop table ${name}`);
  return { tables: planned, nextNumber, droppedTables, droppedIndexes, changes };
}

export function functionChanges(before: readonly DeployedFunction[], after: readonly DeployedFunction[]): string[] {
  const known = new Map(before.map((each) => [each.name, JSON.stringify(each)]));
  const changes: string[] = [];
  for (const each of after) {
    const text = known.get(each.name);
    if (text === undefined) changes.push(`add ${each.kind} ${each.name}`);
    else if (text !== JSON.stringify(each)) changes.push(`change ${each.kind} ${each.name}`);
    known.delete(each.name);
  }
  return [...changes, ...Array.from(known.keys(), (name) => `remove function ${name}`)];
}
