import type { Store } from "../port/store.ts";
import { StoreError } from "../port/store.ts";
import { makeKey, tables } from "./keys.ts";

/** Raised when what is stored changes its form; a store of an older version is migrated, of a newer one refused. */
export const formatVersion = 1;

/** Writes the version into an empty store, and refuses a store that this build can't read. */
export async function checkFormat(store: Store): Promise<void> {
  const key = makeKey(tables.format);
  const stored = store.get(key);
  if (stored === undefined) {
    for (const _ of store.keys({ limit: 1 })) {
      throw new StoreError("damaged", "the store has no format version: it is damaged or not a native-engine store");
    }
    await store.commit([{ kind: "put", key, value: Buffer.from(JSON.stringify({ version: formatVersion })) }]);
    return;
  }
  const { version } = parse(stored);
  if (version > formatVersion) {
    throw new StoreError(
      "failed",
      `the store has format version ${version}; this build reads up to ${formatVersion}: start it with a newer build`,
    );
  }
}

function parse(stored: Uint8Array): { version: number } {
  try {
    const value = JSON.parse(Buffer.from(stored).toString()) as { version: unknown };
    if (typeof value.version === "number") return { version: value.version };
  } catch {
    // Falls through to the one refusal below.
  }
  throw new StoreError("damaged", "the store's format version can't be read: restore the data from a backup");
}
