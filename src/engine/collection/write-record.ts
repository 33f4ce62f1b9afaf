import { asBuffer } from "../../port/bytes.ts";
import { EngineError } from "../errors.ts";
import { runSteps, type Steps } from "../turns.ts";

/** One effect of a write: a document as it is now, or its end. */
export interface DocumentChange {
  readonly id: number;
  readonly version: number;
  /** The encoded document; undefined for a delete. */
  readonly document: Uint8Array | undefined;
}

/**
 * A batch of changes, as it is sent to threads.
 * u32 count, each: f64 id · f64 version · u32 length, 0xffffffff for a delete · document. Little endian.
 *
 * In the collection's log the length is 0xfffffffe and no document follows: the same commit writes it under its own
 * key, and a second copy would be as much again to write and to keep. Logs of earlier releases have the documents.
 */
const deleted = 0xffffffff;
const named = 0xfffffffe;
const headBytes = 20;

/** How long they are when they are encoded. */
export function changesBytes(changes: readonly DocumentChange[]): number {
  let length = 4;
  for (const { document } of changes) length += headBytes + (document?.length ?? 0);
  return length;
}

/** In memory of their own, which may be handed to another thread. */
export function encodeChanges(changes: readonly DocumentChange[]): Buffer<ArrayBuffer> {
  const out = Buffer.allocUnsafeSlow(changesBytes(changes));
  let at = out.writeUInt32LE(changes.length, 0);
  for (const { id, version, document } of changes) {
    out.writeDoubleLE(id, at);
    out.writeDoubleLE(version, at + 8);
    out.writeUInt32LE(document === undefined ? deleted : document.length, at + 16);
    at += headBytes;
    if (document !== undefined) {
      out.set(document, at);
      at += document.length;
    }
  }
  return out;
}

/** The same for the log: what changed, without the documents. */
export function encodeNames(changes: readonly DocumentChange[]): Buffer {
  const out = Buffer.allocUnsafe(4 + changes.length * headBytes);
  let at = out.writeUInt32LE(changes.length, 0);
  for (const { id, version, document } of changes) {
    out.writeDoubleLE(id, at);
    out.writeDoubleLE(version, at + 8);
    at = out.writeUInt32LE(document === undefined ? deleted : named, at + 16);
  }
  return out;
}

interface Logged extends DocumentChange {
  /** The document lies under its key. */
  readonly isNamed: boolean;
}

function* decodeLogged(stored: Uint8Array): Iterable<Logged> {
  const bytes = asBuffer(stored);
  let at = 4;
  for (let left = bytes.readUInt32LE(0); left > 0; left--) {
    const id = bytes.readDoubleLE(at);
    const version = bytes.readDoubleLE(at + 8);
    const length = bytes.readUInt32LE(at + 16);
    at += headBytes;
    const isNamed = length === named;
    const document = isNamed || length === deleted ? undefined : bytes.subarray(at, at + length);
    yield { id, version, document, isNamed };
    at += document?.length ?? 0;
  }
}

export function* decodeChanges(stored: Uint8Array): Iterable<DocumentChange> {
  for (const change of decodeLogged(stored)) {
    if (change.isNamed) throw new EngineError("internal", `the document ${change.id} was not looked up`);
    yield change;
  }
}

/** The deletes of a record of the log. */
export function loggedDeletes(logged: Uint8Array): Uint8Array<ArrayBuffer> {
  const deletes = [...decodeLogged(logged)].filter(({ document, isNamed }) => document === undefined && !isNamed);
  return encodeChanges(deletes);
}

/**
 * A document's encoding in this very version; undefined when it has another by now, or is gone. The bytes are good until
 * the next one is looked up.
 */
export type FindDocument = (id: number, version: number) => Uint8Array | undefined;

/** Puts changes together whose documents are good for a moment only. */
class ChangesWriter {
  #bytes: Buffer;
  #count = 0;
  #at = 4;

  constructor(expected: number) {
    this.#bytes = Buffer.allocUnsafe(4 + expected * documentBytesUsual);
  }

  add({ id, version, document }: DocumentChange): void {
    const length = headBytes + (document?.length ?? 0);
    if (this.#at + length > this.#bytes.length) this.#grow(this.#at + length);
    const out = this.#bytes;
    out.writeDoubleLE(id, this.#at);
    out.writeDoubleLE(version, this.#at + 8);
    out.writeUInt32LE(document === undefined ? deleted : document.length, this.#at + 16);
    if (document !== undefined) out.set(document, this.#at + headBytes);
    this.#at += length;
    this.#count++;
  }

  #grow(wanted: number): void {
    const grown = Buffer.allocUnsafe(Math.max(wanted, this.#bytes.length * 2));
    this.#bytes.copy(grown, 0, 0, this.#at);
    this.#bytes = grown;
  }

  /** In memory of their own, which may be handed to another thread. */
  copy(): Uint8Array<ArrayBuffer> {
    this.#bytes.writeUInt32LE(this.#count, 0);
    return new Uint8Array(this.#bytes.subarray(0, this.#at));
  }
}

/** More makes room as it comes. */
const documentBytesUsual = 1024;

/**
 * Records of the log with their documents, as one. A document that has changed since is left out, for a later record tells of
 * it, and is kept in `outdated` until that record has passed.
 */
export function withDocuments(
  logged: readonly Uint8Array[],
  find: FindDocument,
  outdated?: Set<number>,
): Uint8Array<ArrayBuffer> {
  return runSteps(withDocumentsSteps(logged, find, outdated));
}

/** What is looked up in one step at most: one or two milliseconds. With fewer documents, many clients write more meanwhile. */
const stepMax = { documents: 128, bytes: 256 * 1024 } as const;

/** The same in steps. */
export function* withDocumentsSteps(
  logged: readonly Uint8Array[],
  find: FindDocument,
  outdated?: Set<number>,
): Steps<Uint8Array<ArrayBuffer>> {
  const changes = new ChangesWriter(logged.reduce((sum, record) => sum + loggedCount(record), 0));
  let documents = 0;
  let bytes = 0;
  for (const record of logged) {
    for (const change of decodeLogged(record)) {
      if (documents === stepMax.documents || bytes >= stepMax.bytes) {
        yield;
        documents = 0;
        bytes = 0;
      }
      const { id, version, isNamed } = change;
      const document = isNamed ? find(id, version) : change.document;
      documents++;
      bytes += document?.length ?? 0;
      if (isNamed && document === undefined) outdated?.add(id);
      else {
        outdated?.delete(id);
        changes.add({ id, version, document });
      }
    }
  }
  return changes.copy();
}

/** How many changes a record of the log tells of. */
export function loggedCount(logged: Uint8Array): number {
  return asBuffer(logged).readUInt32LE(0);
}

/** The ids alone, without a look at the documents. */
export function* changedIds(stored: Uint8Array): Iterable<number> {
  const bytes = asBuffer(stored);
  let at = 4;
  for (let left = bytes.readUInt32LE(0); left > 0; left--) {
    yield bytes.readDoubleLE(at);
    const length = bytes.readUInt32LE(at + 16);
    at += headBytes + (length === deleted || length === named ? 0 : length);
  }
}
