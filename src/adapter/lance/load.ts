import { createRequire } from "node:module";
import type * as LanceModule from "@lancedb/lancedb";
import type * as ArrowModule from "apache-arrow";

export type Lance = typeof LanceModule;
export type Arrow = typeof ArrowModule;

let loaded: { readonly lance: Lance; readonly arrow: Arrow } | undefined;

/**
 * Loaded when first used: the native part is large, and only the thread that writes datasets needs it.
 *
 * Arrow must be the very instance that lancedb requires. The package exists as CommonJS and as ESM, and lancedb writes
 * a table of the other instance as 0 rows, silently.
 */
export function loadLance(): { readonly lance: Lance; readonly arrow: Arrow } {
  if (loaded === undefined) {
    const require = createRequire(import.meta.url);
    const lance = require("@lancedb/lancedb") as Lance;
    const arrow = createRequire(require.resolve("@lancedb/lancedb"))("apache-arrow") as Arrow;
    loaded = { lance, arrow };
  }
  return loaded;
}
