import { tables } from "../keys.ts";

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
