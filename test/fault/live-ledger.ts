import assert from "node:assert/strict";
import { ask } from "../support/http.ts";
import type { SeededRandom } from "./random.ts";

interface Sent {
  readonly name: string;
  readonly fill: string;
  /** The id of the document and its commit; undefined: nobody knows. */
  acknowledged: { readonly id: string; readonly tick: number } | undefined;
}

interface Row {
  readonly _id: string;
  readonly name: string;
  readonly fill: string;
}

const table = "rows";
const resendsMax = 20;

/** Documents of a live table, each inserted under a request id, and what must be there of them. */
export class LiveLedger {
  readonly #namespace: string;
  readonly #sent: Sent[] = [];
  #lastTick = 0;

  constructor(namespace: string) {
    this.#namespace = namespace;
  }

  get acknowledged(): number {
    return this.#sent.filter(({ acknowledged }) => acknowledged !== undefined).length;
  }

  /** The table may be there already. */
  async prepare(url: string): Promise<void> {
    await this.#call(url, "Mutate", { function: "_tables:create", args: { table } });
  }

  async insert(url: string, random: SeededRandom, name: string): Promise<void> {
    const sent: Sent = { name, fill: "x".repeat(random.between(0, 900)), acknowledged: undefined };
    this.#sent.push(sent);
    await this.#send(url, sent);
  }

  /** All that was acknowledged is there, once, and so it stays when it is sent again. */
  async verify(url: string, random: SeededRandom): Promise<void> {
    const unknown = this.#sent.filter(({ acknowledged }) => acknowledged === undefined).slice(-resendsMax);
    const known = this.#sent.filter(({ acknowledged }) => acknowledged !== undefined);
    const again = Array.from({ length: Math.min(resendsMax, known.length) }, () => random.pick(known));
    const { value, tick } = await this.#call(url, "Query", { function: "_tables:list", args: { table } });
    assert.ok(tick >= this.#lastTick, `the tick is ${tick}, but ${this.#lastTick} was acknowledged`);
    this.#check(value as Row[]);
    for (const sent of [...unknown, ...again]) await this.#send(url, sent);
    this.#check((await this.#call(url, "Query", { function: "_tables:list", args: { table } })).value as Row[]);
  }

  #check(rows: readonly Row[]): void {
    const byName = new Map(rows.map((row) => [row.name, row]));
    assert.equal(byName.size, rows.length, "a document is there twice");
    for (const { name, fill, acknowledged } of this.#sent) {
      const found = byName.get(name);
      if (acknowledged !== undefined) assert.equal(found?._id, acknowledged.id, `the document ${name} is lost`);
      if (found !== undefined) assert.equal(found.fill, fill, `the document ${name} is another`);
    }
  }

  async #send(url: string, sent: Sent): Promise<void> {
    const { name, fill, acknowledged: before } = sent;
    const call = { function: "_tables:insert", args: { table, document: { name, fill } } };
    const { value, tick, replayed } = await this.#call(url, "Mutate", call, name);
    if (before !== undefined) assert.deepEqual({ id: value, tick, replayed }, { ...before, replayed: true }, name);
    sent.acknowledged = { id: value as string, tick };
    this.#lastTick = Math.max(this.#lastTick, tick);
  }

  async #call(url: string, method: "Mutate" | "Query", call: object, requestId?: string) {
    const body = { namespace: this.#namespace, call, ...(requestId === undefined ? {} : { requestId }) };
    const { status, text, json } = await ask(`${url}/service.live.v1.LiveService/${method}`, { body });
    assert.equal(status, 200, text);
    return { value: json.value as unknown, tick: Number(json.tick), replayed: json.replayed as boolean };
  }
}
