// A load process: does what the runner orders, over real connections, and reports what came of it.
import { setTimeout as delay } from "node:timers/promises";
import type { LoadOrder, LoadReport, LoadTarget, Verified } from "./messages.ts";
import { laneLimits, type Operation, Operations } from "./operations.ts";
import { type Outcome, Tally } from "./tally.ts";

const tickMs = 5;
/** Arrivals that are late because this process was held up come at once, up to so many of them. */
const burstMax = 2_000;

/** A machine that gets faster under way, because others leave it, is given more to do. */
const overloadFactor = 2;

function answeredPerSecond(now: Record<string, number>, before: Record<string, number>, windowMs: number): number {
  const sum = (counts: Record<string, number>) => Object.values(counts).reduce((all, each) => all + each, 0);
  return ((sum(now) - sum(before)) * 1000) / windowMs;
}

class Load {
  readonly #target: LoadTarget;
  readonly #operations: Operations;
  /** Each as often as its share of the load says. */
  readonly #schedule: { readonly operations: readonly Operation[]; readonly namespaces: readonly string[] };
  #tally = new Tally();
  #inFlight = 0;
  #picks = 0;

  constructor(target: LoadTarget) {
    this.#target = target;
    this.#operations = new Operations(target);
    this.#schedule = {
      operations: this.#operations.all.flatMap((each) => Array.from({ length: each.weight }, () => each)),
      namespaces: target.namespaces.flatMap(({ name, share }) => Array.from({ length: share }, () => name)),
    };
  }

  async closed(clients: number, ms: number): Promise<Tally> {
    this.#tally = new Tally();
    const endMs = performance.now() + ms;
    const client = async () => {
      while (performance.now() < endMs) await this.#run(...this.#pick());
    };
    await Promise.all(Array.from({ length: clients }, client));
    return this.#tally;
  }

  async open(perSecond: number, ms: number, windowMs: number): Promise<Tally> {
    const tally = new Tally();
    this.#tally = tally;
    const startMs = performance.now();
    const polls = this.#keepPolling(startMs + ms);
    let rate = perSecond;
    let lastMs = startMs;
    /** Arrivals that are due, of which the last is still on its way. */
    let due = 0;
    let window = 1;
    let before: Record<string, number> = {};
    for (let nowMs = startMs; nowMs < startMs + ms; nowMs = performance.now()) {
      due = Math.min(burstMax, due + ((nowMs - lastMs) / 1000) * rate);
      lastMs = nowMs;
      for (; due >= 1; due--) this.#arrive();
      if (nowMs - startMs >= window * windowMs) {
        window++;
        const now = tally.okByClass();
        report({
          kind: "window",
          ok: Object.fromEntries(Object.entries(now).map(([k, n]) => [k, n - (before[k] ?? 0)])),
        });
        rate = Math.max(rate, overloadFactor * answeredPerSecond(now, before, windowMs));
        before = now;
      }
      await delay(tickMs);
    }
    await polls;
    while (this.#inFlight > 0) await delay(tickMs);
    return tally;
  }

  async verify(): Promise<Verified[]> {
    const { url, namespaces } = this.#target;
    const ask = async (path: string, body?: unknown) => {
      const response = await fetch(`${url}${path}`, {
        method: body === undefined ? "GET" : "POST",
        headers: { "content-type": "application/json" },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      if (response.status !== 200) throw new Error(`${path}: ${response.status} ${await response.text()}`);
      return await response.json();
    };
    const verified: Verified[] = [];
    for (const { name } of namespaces) verified.push(await this.#operations.ledgers.get(name)!.verify(ask, name));
    return verified;
  }

  close(): Promise<void> {
    return this.#operations.close();
  }

  #arrive(): void {
    const [operation, namespace] = this.#pick();
    if (operation.isFull()) this.#tally.of(`${operation.name} ${namespace}`).counts.dropped++;
    else void this.#run(operation, namespace);
  }

  async #run(operation: Operation, namespace: string): Promise<void> {
    const tally = this.#tally.of(`${operation.name} ${namespace}`);
    const startMs = performance.now();
    tally.counts.sent++;
    this.#inFlight++;
    let outcome: Outcome;
    try {
      outcome = await operation.run(namespace);
    } catch (error) {
      outcome = { kind: "wrong", detail: `${operation.name}: ${(error as Error).message}` };
    }
    this.#inFlight--;
    tally.add(outcome, performance.now() - startMs);
  }

  /** Long polls that stand all the time; they are beside the load, since each mostly waits. */
  async #keepPolling(endMs: number): Promise<void> {
    const { namespaces } = this.#target;
    const one = async (i: number) => {
      const { name } = namespaces[i % namespaces.length]!;
      while (performance.now() < endMs) await this.#run(this.#operations.poll, name);
    };
    await Promise.all(Array.from({ length: laneLimits.polls }, (_, i) => one(i)));
  }

  #pick(): [Operation, string] {
    // Two walks with strides that never fall into step: every class meets every namespace.
    this.#picks++;
    const { operations, namespaces } = this.#schedule;
    const operation = operations[(this.#picks * 37) % operations.length]!;
    const name = namespaces[Math.floor(this.#picks * 0.618_033_988_75 * namespaces.length) % namespaces.length]!;
    return [operation, name];
  }
}

function report(message: LoadReport): void {
  process.send!(message);
}

let load: Load | undefined;

async function follow(order: LoadOrder): Promise<void> {
  switch (order.kind) {
    case "aim":
      load = new Load(order.target);
      return report({ kind: "ready" });
    case "closed":
      return report({ kind: "done", counts: (await load!.closed(order.clients, order.ms)).finished() });
    case "open":
      return report({
        kind: "done",
        counts: (await load!.open(order.perSecond, order.ms, order.windowMs)).finished(),
      });
    case "verify": {
      const each = await load!.verify();
      const sum = (key: "appends" | "events" | "documents") => each.reduce((all, one) => all + one[key], 0);
      const lost = each.flatMap((one) => one.lost);
      report({
        kind: "verified",
        verified: { appends: sum("appends"), events: sum("events"), documents: sum("documents"), lost },
      });
      await load!.close();
      process.disconnect();
    }
  }
}

process.on("message", (order: LoadOrder) => {
  follow(order).catch((error: unknown) => {
    process.stderr.write(`load: ${(error as Error).stack}\n`);
    process.exit(1);
  });
});
