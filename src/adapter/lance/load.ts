import { createRequire } from "node:module";
import type * as LanceModule from "@lancedb/lancedb";
import type * as ArrowModule from "apache-arrow";
import type * as Assembler from "apache-arrow/visitor/vectorassembler";

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
    const requireBeside = createRequire(require.resolve("@lancedb/lancedb"));
    const arrow = requireBeside("apache-arrow") as Arrow;
    repairBooleans(requireBeside("apache-arrow/visitor/vectorassembler") as typeof Assembler);
    loaded = { lance, arrow };
  }
  return loaded;
}

/**
 * Arrow 18 serialises a column of booleans that are all null without its buffer, which lance refuses: as "Spill has
 * sent an error" when merging. Its visitor is told of no nulls there; the bitmap of nulls is written before, elsewhere.
 */
function repairBooleans({ VectorAssembler }: typeof Assembler): void {
  const { visitBool } = VectorAssembler.prototype;
  VectorAssembler.prototype.visitBool = function (data) {
    const { length, offset, values } = data;
    return visitBool.call(this, { nullCount: 0, length, offset, values } as typeof data);
  };
}
