import type { Bytes, WriteOp } from "../../port/store.ts";
import { tables } from "../keys.ts";

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

/** Where the instance's own state lives in the Store: the table's tag, then one byte per thing. */
const instanceTag = tables.instance;

export const instanceKeys = {
  /** UTF-8 ULID of the instance. */
  identity: Uint8Array.of(instanceTag, 0x00),
  /** JSON: the signing keys and the state of their rotation. */
  signing: Uint8Array.of(instanceTag, 0x01),
  /** JSON: the org and its owner, once set up. */
  setup: Uint8Array.of(instanceTag, 0x02),
} as const;
