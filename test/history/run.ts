import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { SeededRandom } from "../fault/random.ts";
import { Connection } from "./call.ts";
import {
  type ClientContext,
  partitionsPerStream,
  readLast,
  Shared,
  streams,
  useDocuments,
  usePartitions,
  useTables,
  useTokens,
} from "./clients.ts";
import { faultKinds, Victim } from "./faults.ts";
import { History } from "./history.ts";
import { StaleProxy } from "./stale-proxy.ts";

export interface HistoryOptions {
  readonly seed: number;
  readonly seconds: number;
  /** The control: a proxy before the server answers some reads with old answers, and there are no faults. */
  readonly isStale?: boolean;
  /** No faults: many more operations. */
  readonly isCalm?: boolean;
}

export type HistoryFigures = Readonly<Record<string, number>>;

const clientsOfPartitions = 5;
const clientsOfDocuments = 5;
const clientsOfTables = 5;
const clientsOfTokens = 2;
const timeoutMs = 2000;

/** One server under clients and faults, and whether one order explains everything that the clients were told. */
export async function runHistory({
  seed,
  seconds,
  isStale = false,
  isCalm = isStale,
}: HistoryOptions): Promise<HistoryFigures> {
  const random = new SeededRandom(seed);
  const history = new History();
  await using victim = await Victim.start(() => history.processEnded());
  await using proxy = isStale ? await StaleProxy.start(victim.port, random.fork()) : undefined;
  const port = proxy?.port ?? victim.port;
  const kinds = isCalm ? [] : kindsOf(victim);
  const during = async () => {
    await harm(victim, random.fork(), kinds, seconds);
  };
  let tokenReads: number;
  try {
    tokenReads = await runClients({ history, random, portOf: () => port, during, after: () => victim.revive() });
  } catch (error) {
    throw new Error(`${(error as Error).message}\n${victim.logs.slice(-20).join("\n")}`, { cause: error });
  }
  const states = checked(history, seed, isStale);
  const { partitions, documents } = history;
  return {
    "operations answered": partitions.answered + documents.answered,
    "operations left open": partitions.open + documents.open,
    "objects checked": partitions.objects.size + documents.objects.size,
    "states searched": states,
    "reads with a token": tokenReads,
    ...Object.fromEntries(Object.entries(victim.faults).map(([kind, count]) => [`fault: ${kind}`, count])),
  };
}

export interface ClientsOptions {
  readonly history: History;
  readonly random: SeededRandom;
  /** Where a client asks, by its number. */
  readonly portOf: (client: number) => number;
  /** The clients work until it is over. */
  readonly during: () => Promise<void>;
  /** Makes whole again what was harmed. */
  readonly after?: () => Promise<void>;
}

/** Has clients work, and read everything once more at the end. Returns how many reads with a token were answered. */
export async function runClients({ history, random, portOf, during, after }: ClientsOptions): Promise<number> {
  const shared = new Shared();
  let over = false;
  const contextOf = (name: string, port: number): ClientContext => ({
    name,
    connection: new Connection(port, timeoutMs),
    history,
    shared,
    random: random.fork(),
    isOver: () => over,
  });
  await create(new Connection(portOf(0), 20_000));
  const contexts: ClientContext[] = [];
  const start = (count: number, kind: string, use: (context: ClientContext, number: number) => Promise<unknown>) =>
    Array.from({ length: count }, (_, number) => {
      const context = contextOf(`${kind}-${number}`, portOf(contexts.length));
      contexts.push(context);
      return use(context, number);
    });
  const tokens = start(clientsOfTokens, "tokens", useTokens) as Promise<number>[];
  const work = Promise.all([
    ...start(clientsOfPartitions, "partitions", usePartitions),
    ...start(clientsOfDocuments, "documents", useDocuments),
    ...start(clientsOfTables, "tables", useTables),
    ...tokens,
  ]);
  try {
    await Promise.race([work, during()]);
  } finally {
    over = true;
  }
  await work;
  await after?.();
  await readLast({ ...contextOf("last", portOf(0)), connection: new Connection(portOf(0), 20_000) });
  for (const { connection } of contexts) connection.close();
  return (await Promise.all(tokens)).reduce((sum, reads) => sum + reads, 0);
}

/** A history that is not explained is kept: its timing is not to be had again. */
export function checked(history: History, seed: number, isStale: boolean): number {
  try {
    return history.check();
  } catch (error) {
    const file = join(tmpdir(), `history-${seed}.json`);
    if (isStale) throw error;
    writeFileSync(file, history.toText());
    process.stderr.write(`kept in ${file}; npm run test:history -- --check ${file}\n`);
    throw error;
  }
}

/** Without a C compiler there is no clock to move and no disk to fill. */
function kindsOf(victim: Victim) {
  return victim.hasClock ? faultKinds : faultKinds.filter((kind) => kind !== "clock jump" && kind !== "full disk");
}

async function harm(
  victim: Victim,
  random: SeededRandom,
  kinds: readonly (typeof faultKinds)[number][],
  seconds: number,
): Promise<void> {
  // The time between the faults counts: how long a start takes is the machine's affair.
  for (let leftMs = seconds * 1000; leftMs > 0; ) {
    const pauseMs = random.between(200, 1200);
    leftMs -= pauseMs;
    await delay(pauseMs);
    if (kinds.length > 0) await victim.suffer(random.pick(kinds), random);
  }
}

async function create(connection: Connection): Promise<void> {
  const steps: readonly (readonly [string, object])[] = [
    ["/v1/namespaces", { name: "h" }],
    ...streams.map((name) => ["/v1/namespaces/h/streams", { name, partitions: partitionsPerStream }] as const),
    ["/v1/namespaces/h/streams", { name: "counted" }],
    ["/v1/namespaces/h/links", { name: "counts", source: "counted" }],
    ["/v1/namespaces/h/collections", { name: "docs", schema: { fields: [{ name: "n", kind: "i64" }] } }],
  ];
  for (const [path, body] of steps) {
    const reply = await connection.call(path, body);
    assert.ok(reply !== undefined && reply.status < 300, JSON.stringify(reply));
  }
  connection.close();
}
