import { isDeepStrictEqual } from "node:util";
import {
  CollectionModel,
  type ModelDocument,
  type ModelField,
  type ModelOp,
  type ModelResult,
  Refused,
} from "../model/collection/model.ts";
import { demand, Violation } from "./outcome.ts";

export type Documents = ReadonlyMap<number, ModelDocument>;

/** One request that writes documents. `offset` is its place in the collection's log. */
export interface DocumentWrite {
  readonly id: number;
  readonly ops: readonly ModelOp[];
  readonly begunAt: number;
  state: "pending" | "done" | "refused" | "unknown" | "absent";
  offset: number | undefined;
  results: readonly ModelResult[] | undefined;
  /** It writes what a filter matched at an earlier moment and nobody has changed since. */
  readonly filtered?: FilteredWrite;
}

export interface FilteredWrite {
  /** The first offset whose state it may have matched. */
  readonly least: number;
  readonly matching: (documents: Documents) => readonly number[];
  readonly opOf: (id: number) => ModelOp;
  /** What it was told, once it was. */
  told: { readonly matched: number; readonly affected: number } | undefined;
}

/** An answer that was true at some moment: of the states it may have been of, at least one must agree with it. */
interface Claim {
  readonly what: string;
  readonly begunAt: number;
  readonly endedAt: number;
  /** The first offset whose state it may be of, and the last where that is known. */
  readonly least: number;
  readonly most: number | undefined;
  /** Not an eventual read: what was read before must not be forgotten. */
  readonly isOrdered: boolean;
  readonly holds: (documents: Documents) => boolean;
}

/** All that was written to a collection and read from it, and whether there is one order that explains it. */
export class CollectionHistory {
  readonly fields: readonly ModelField[];
  readonly #writes: DocumentWrite[] = [];
  readonly #claims: Claim[] = [];
  /** The documents after each offset, from the last time that everything was settled. */
  #states = new Map<number, Documents>([[-1, new Map()]]);
  #settled = -1;
  #moment = 0;
  /** The last offset that someone was told of. */
  known = -1;
  streamId = 0;

  constructor(fields: readonly ModelField[]) {
    this.fields = fields;
  }

  get moment(): number {
    return ++this.#moment;
  }

  begin(id: number, ops: readonly ModelOp[], filtered?: FilteredWrite): DocumentWrite {
    const begunAt = this.moment;
    const write: DocumentWrite = {
      id,
      ops,
      begunAt,
      state: "pending",
      offset: undefined,
      results: undefined,
      ...(filtered === undefined ? {} : { filtered }),
    };
    this.#writes.push(write);
    return write;
  }

  /** A write that changes nothing is no part of the log: it is a claim about the state it was decided on. */
  acknowledge(write: DocumentWrite, results: readonly ModelResult[], offset: number): void {
    if (write.state === "done") return;
    write.state = "done";
    if (results.some(isChange)) {
      write.offset = offset;
      write.results = results;
    } else {
      this.claim(write.begunAt, `write ${write.id} changes nothing`, offset, offset, true, (documents) =>
        isDeepStrictEqual(this.#apply(documents, write.ops).results, results),
      );
    }
    this.see(offset);
  }

  acknowledgeFiltered(write: DocumentWrite, matched: number, affected: number, offset: number): void {
    const { filtered } = write;
    write.state = "done";
    filtered!.told = { matched, affected };
    if (affected > 0) write.offset = offset;
    this.claim(
      write.begunAt,
      `write ${write.id} matches ${matched}`,
      filtered!.least,
      undefined,
      false,
      (documents) => {
        return filtered!.matching(documents).length === matched;
      },
    );
    this.see(offset);
  }

  refuse(write: DocumentWrite, reason: string): void {
    write.state = "refused";
    if (reason !== "already_exists" && reason !== "not_found") return;
    this.claim(write.begunAt, `write ${write.id} is refused as ${reason}`, -1, undefined, false, (documents) => {
      try {
        this.#apply(documents, write.ops);
        return false;
      } catch (error) {
        return error instanceof Refused && error.reason === reason;
      }
    });
  }

  see(offset: number): void {
    this.known = Math.max(this.known, offset);
  }

  claim(
    begunAt: number,
    what: string,
    least: number,
    most: number | undefined,
    isOrdered: boolean,
    holds: Claim["holds"],
  ): void {
    this.#claims.push({ what, begunAt, endedAt: this.moment, least, most, isOrdered, holds });
  }

  /** With nothing under way and all documents read: finds the order of the writes, then checks every answer by it. */
  settle(documents: Documents, last: number): void {
    demand(last >= this.known, () => `the collection's log ends at ${last}, but ${this.known} was known`);
    const done = new Map<number, DocumentWrite>();
    for (const write of this.#writes) {
      if (write.offset === undefined) continue;
      const other = done.get(write.offset);
      demand(other === undefined, () => `writes ${other?.id} and ${write.id} are both at ${write.offset}`);
      done.set(write.offset, write);
    }
    const open = this.#writes.filter(({ state }) => state === "unknown");
    const before = this.#states.get(this.#settled)!;
    const states = new Map<number, Documents>();
    const failures: string[] = [];
    const order = this.#explain(before, this.#settled + 1, last, done, open, documents, states, failures);
    if (order === undefined) throw new Violation(`no order explains the documents: ${failures.join("; ")}`);
    for (const write of open) write.state = order.includes(write) ? "done" : "absent";
    for (const [offset, state] of states) this.#states.set(offset, state);
    this.#checkClaims(order, last);
    this.#settled = last;
    this.known = last;
    this.#states = new Map([...this.#states].slice(-400));
    this.#writes.splice(0);
    this.#claims.splice(0);
  }

  /** Tries, for each offset that nobody was told of, the writes that were cut off. */
  #explain(
    before: Documents,
    offset: number,
    last: number,
    done: ReadonlyMap<number, DocumentWrite>,
    open: readonly DocumentWrite[],
    wanted: Documents,
    states: Map<number, Documents>,
    failures: string[],
  ): DocumentWrite[] | undefined {
    if (offset > last) {
      if (isDeepStrictEqual(before, wanted)) return [];
      failures.push(`at ${last}: ${difference(before, wanted)}`);
      return undefined;
    }
    const known = done.get(offset);
    if (known === undefined && open.length === 0) failures.push(`nobody wrote offset ${offset}`);
    for (const write of known === undefined ? open : [known]) {
      failures.push(`tried write ${write.id} at ${offset}`);
      for (const ops of this.#variants(write, before, offset, states)) {
        const after = this.#tryWrite(write, ops, before, offset, failures);
        if (after === undefined) continue;
        const rest = open.filter((each) => each !== write);
        states.set(offset, after);
        const order = this.#explain(after, offset + 1, last, done, rest, wanted, states, failures);
        if (order !== undefined) return [write, ...order];
        states.delete(offset);
      }
    }
    return undefined;
  }

  /** The operations that a write may have come to. */
  *#variants(
    write: DocumentWrite,
    before: Documents,
    offset: number,
    states: ReadonlyMap<number, Documents>,
  ): Iterable<readonly ModelOp[]> {
    const { filtered } = write;
    if (filtered === undefined) return yield write.ops;
    const { least, told, matching, opOf } = filtered;
    // One that was deleted and made anew has the first version again, and is left alone unless it matches too.
    const still = new Set(matching(before));
    for (let at = least; at < offset; at++) {
      const pinned = this.#states.get(at) ?? states.get(at);
      if (pinned === undefined) continue;
      const ids = matching(pinned);
      const isSame = (id: number) => before.get(id)?.version === pinned.get(id)!.version && still.has(id);
      const ops = ids.filter(isSame).map(opOf);
      if (told === undefined || (told.matched === ids.length && told.affected === ops.length)) yield ops;
    }
  }

  /** The documents after a write, or undefined where it can't have been here. */
  #tryWrite(
    write: DocumentWrite,
    ops: readonly ModelOp[],
    before: Documents,
    offset: number,
    failures: string[],
  ): Documents | undefined {
    try {
      const { results, documents } = this.#apply(before, ops);
      if (documents === before) return undefined;
      if (write.results === undefined || isDeepStrictEqual(results, write.results)) return documents;
      failures.push(`${write.id}@${offset}: ${JSON.stringify(write.results)}, not ${JSON.stringify(results)}`);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      failures.push(`write ${write.id} at ${offset} would be refused as ${error.reason}`);
    }
    return undefined;
  }

  #checkClaims(order: readonly DocumentWrite[], last: number): void {
    const first = this.#settled + 1;
    const ordered = [...this.#claims].sort((a, b) => a.endedAt - b.endedAt);
    const earliest = new Map<Claim, number>();
    for (const claim of ordered) {
      let least = claim.least;
      if (claim.isOrdered) {
        for (const [other, at] of earliest) if (other.endedAt < claim.begunAt) least = Math.max(least, at);
      }
      // A write that began after the answer was given can't be in it.
      let most = claim.most ?? last;
      while (claim.most === undefined && most >= first && order[most - first]!.begunAt > claim.endedAt) most--;
      let at = Math.max(least, -1);
      while (at <= most && !this.#holdsAt(claim, at)) at++;
      demand(at <= most, () => `${claim.what} is true of no state from ${least} to ${most}`);
      if (claim.isOrdered) earliest.set(claim, at);
    }
  }

  /** States that were settled too long ago to be kept agree with everything. */
  #holdsAt(claim: Claim, offset: number): boolean {
    const state = this.#states.get(offset);
    return state === undefined || claim.holds(state);
  }

  #apply(documents: Documents, ops: readonly ModelOp[]): { results: ModelResult[]; documents: Documents } {
    const model = new CollectionModel(this.fields, "ignore");
    model.documents = documents as Map<number, ModelDocument>;
    const results = model.write(ops);
    return { results, documents: model.documents };
  }
}

export function isChange({ status }: ModelResult): boolean {
  return status !== "noop" && status !== "condition_failed";
}

function difference(a: Documents, b: Documents): string {
  const ids = [...new Set([...a.keys(), ...b.keys()])].filter((id) => !isDeepStrictEqual(a.get(id), b.get(id)));
  return ids.map((id) => `${id} is ${JSON.stringify(b.get(id))}, not ${JSON.stringify(a.get(id))}`).join(", ");
}
