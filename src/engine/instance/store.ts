import type { Bytes, WriteOp } from "../../port/store.ts";

/** The part of the Store that the instance needs; the engine-wide committer has it too. */
export interface InstanceStore {
  get(key: Bytes): Bytes | undefined;
  commit(ops: readonly WriteOp[]): Promise<void>;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true });

export function readText(store: InstanceStore, key: Bytes): string | undefined {
  const value = store.get(key);
  return value === undefined ? undefined : decoder.decode(value);
}

export async function writeText(store: InstanceStore, key: Bytes, text: string): Promise<void> {
  await store.commit([{ kind: "put", key, value: encoder.encode(text) }]);
}
