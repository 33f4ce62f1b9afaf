import { asBuffer } from "../../port/bytes.ts";
import { mergeWrites, opsInRange } from "../../port/merge.ts";
import type { Bytes, Entry, Range, Reader, WriteOp } from "../../port/store.ts";
import type { Table } from "../keys.ts";

/**
 * The writes of a group, on top of the store: a change reads what the changes before it in the group have written.
 * Hooks keep state in memory in step: `onUndo` when the change or its group fails, `onCommit` once it is durable.
 * `beforeCommit` lets changes of one kind write together what each would write alone; what it returns is called once
 * the group is durable, before what its changes left to be called then.
 */
export class Draft {
  readonly #store: Reader;
  readonly ops: WriteOp[] = [];
  #completeHooks: (() => (() => void) | undefined)[] = [];
  #completed: (() => void)[] = [];
  #commitHooks: (() => void)[] = [];
  #undoHooks: (() => void)[] = [];
  /** Built when a change first reads: appends write without reading. */
  #overlay: Map<string, WriteOp> | undefined;
  readonly #tables = new Set<number>();
  #mark = { ops: 0, commitHooks: 0, undoHooks: 0 };

  constructor(store: Reader) {
    this.#store = store;
  }

  get(key: Bytes): Bytes | undefined {
    const op = this.#written().get(text(key));
    if (op === undefined) return this.#store.get(key);
    return op.kind === "put" ? op.value : undefined;
  }

  head(key: Bytes, bytesMax: number): Bytes | undefined {
    const op = this.#written().get(text(key));
    if (op === undefined) return this.#store.head(key, bytesMax);
    return op.kind === "put" ? op.value.subarray(0, bytesMax) : undefined;
  }

  *range(range: Range): Iterable<Entry> {
    const stored = this.#store.range({ ...range, limit: Infinity });
    yield* mergeWrites(stored, opsInRange(this.#written().values(), range), range);
  }

  /** Whether a change of the group has written to a table, be it one that failed. */
  writesTo(table: Table): boolean {
    return this.#tables.has(table);
  }

  /** Whether any key lies in the range. */
  has(range: Range): boolean {
    for (const _ of this.range({ ...range, limit: 1 })) return true;
    return false;
  }

  put(key: Bytes, value: Bytes): void {
    this.#push({ kind: "put", key, value });
  }

  delete(key: Bytes): void {
    this.#push({ kind: "delete", key });
  }

  /** Writes that were put together elsewhere. */
  add(ops: readonly WriteOp[]): void {
    for (const op of ops) this.#push(op);
  }

  /** Called once every change of the group is decided, to write what they have in common; stays when a change fails. */
  beforeCommit(hook: () => (() => void) | undefined): void {
    this.#completeHooks.push(hook);
  }

  onCommit(hook: () => void): void {
    this.#commitHooks.push(hook);
  }

  onUndo(hook: () => void): void {
    this.#undoHooks.push(hook);
  }

  /** Marks where the next change starts. */
  begin(): void {
    this.#mark.ops = this.ops.length;
    this.#mark.commitHooks = this.#commitHooks.length;
    this.#mark.undoHooks = this.#undoHooks.length;
  }

  /** Drops what was written since `begin`. */
  rollback(): void {
    this.ops.length = this.#mark.ops;
    this.#commitHooks.length = this.#mark.commitHooks;
    runReversed(this.#undoHooks.splice(this.#mark.undoHooks));
    this.#overlay = undefined;
  }

  complete(): void {
    for (const hook of this.#completeHooks) {
      const after = hook();
      if (after !== undefined) this.#completed.push(after);
    }
  }

  committed(): void {
    for (const hook of this.#completed) hook();
    for (const hook of this.#commitHooks) hook();
  }

  aborted(): void {
    runReversed(this.#undoHooks);
  }

  #push(op: WriteOp): void {
    this.ops.push(op);
    this.#tables.add(op.key[0]!);
    this.#overlay?.set(text(op.key), op);
  }

  #written(): Map<string, WriteOp> {
    if (this.#overlay === undefined) {
      this.#overlay = new Map();
      for (const op of this.ops) this.#overlay.set(text(op.key), op);
    }
    return this.#overlay;
  }
}

function text(key: Bytes): string {
  return asBuffer(key).toString("latin1");
}

function runReversed(hooks: readonly (() => void)[]): void {
  for (let i = hooks.length - 1; i >= 0; i--) hooks[i]!();
}
