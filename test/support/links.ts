import assert from "node:assert/strict";
import type { EventClient } from "./events.ts";
import { type Answer, ask } from "./http.ts";
import { eventually } from "./streams.ts";

/** What is asked of links, by a client of the test file's unless another one is named. */
export function linksOf(client: () => EventClient) {
  function createLink(body: object, at = client()): Promise<Answer> {
    return ask(`${at.url}/links`, { body });
  }

  async function made(body: object, at = client()): Promise<number> {
    const done = await createLink(body, at);
    assert.equal(done.status, 201, done.text);
    return done.json.id as number;
  }

  async function detail(name: string, at = client()): Promise<Answer["json"]> {
    const done = await ask(`${at.url}/links/${name}`);
    assert.equal(done.status, 200, done.text);
    return done.json;
  }

  /** Once the link has read everything: a single look waits for it only so long. */
  function caughtUp(name: string, at = client()): Promise<Answer["json"]> {
    return eventually(
      () => detail(name, at),
      ({ lag }) => lag.every(({ records }: { records: number }) => records === 0),
    );
  }
  return { createLink, made, detail, caughtUp };
}

/** All that counters have counted. */
export function sum(counters: Record<string, number>): number {
  return Object.values(counters).reduce((total, each) => total + each, 0);
}

/** Many records in few requests: `count` for each of the keys k0 to k99. */
export async function fill(at: EventClient, stream: string, batches: number): Promise<void> {
  const records = Array.from({ length: 5_000 }, (_, i) => ({ key: `k${i % 100}` }));
  for (let i = 0; i < batches; i++) await at.records(stream, records);
}
