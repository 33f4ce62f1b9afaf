import { isIP } from "node:net";
import { Admin, type BaseOptions, Consumer, Producer } from "@platformatic/kafka";

export interface KafkaAddress {
  /** Each as `host:port`. */
  readonly brokers: readonly string[];
  readonly topic: string;
  readonly tls?: { readonly ca?: string[] };
  readonly sasl?: {
    readonly mechanism: "PLAIN" | "SCRAM-SHA-256" | "SCRAM-SHA-512";
    readonly username: string;
    readonly password: string;
  };
}

/** What a broker may take for an answer. Less than the lease: an owner had better try another broker while it still has one. */
export const requestMs = 1_500;
const connectMs = 1_000;
/** What a fetch waits for besides. */
export const fetchMsMax = 1_000;
/** What a topic's description or creation may take: nobody's lease waits for it. */
export const adminMs = 10_000;

/**
 * Clients for one purpose each, so that a fetch that waits keeps no append waiting. After an error they are made anew and begin with the next
 * broker: one that is frozen would otherwise hold all of them.
 */
export class KafkaClients {
  readonly #address: KafkaAddress;
  #first = 0;
  #producer: Producer<Buffer, Buffer, Buffer, Buffer> | undefined;
  #consumer: Consumer<Buffer, Buffer, Buffer, Buffer> | undefined;
  #admin: Admin | undefined;

  constructor(address: KafkaAddress) {
    this.#address = address;
  }

  get producer(): Producer<Buffer, Buffer, Buffer, Buffer> {
    this.#producer ??= new Producer(this.#options());
    return this.#producer;
  }

  get consumer(): Consumer<Buffer, Buffer, Buffer, Buffer> {
    this.#consumer ??= new Consumer({ ...this.#options(), groupId: "native-engine" });
    return this.#consumer;
  }

  get admin(): Admin {
    this.#admin ??= new Admin({ ...this.#options(), requestTimeout: adminMs, timeout: adminMs });
    return this.#admin;
  }

  /** What is under way with the old ones may end as it will. */
  renewProducer(): void {
    this.#first++;
    drop(this.#producer);
    this.#producer = undefined;
  }

  renewConsumer(): void {
    this.#first++;
    drop(this.#consumer);
    this.#consumer = undefined;
  }

  renewAdmin(): void {
    this.#first++;
    drop(this.#admin);
    this.#admin = undefined;
  }

  async close(): Promise<void> {
    const open = [this.#producer, this.#consumer, this.#admin];
    this.#producer = undefined;
    this.#consumer = undefined;
    this.#admin = undefined;
    for (const each of open) drop(each);
  }

  #options(): BaseOptions {
    const { brokers, tls, sasl } = this.#address;
    const first = this.#first % brokers.length;
    return {
      clientId: "native-engine",
      bootstrapBrokers: [...brokers.slice(first), ...brokers.slice(0, first)],
      // What is sent again is decided above, by what the log holds.
      retries: 0,
      connectTimeout: connectMs,
      requestTimeout: requestMs + fetchMsMax,
      timeout: requestMs,
      metadataMaxAge: 60_000,
      // Brokers behind one address are told apart by the name that is asked for; an IP address is none.
      ...(tls && { tls, tlsServerName: brokers.every((broker) => isIP(hostOf(broker)) === 0) }),
      ...(sasl && { sasl }),
    };
  }
}

interface Closable {
  on(event: "error", listener: () => void): unknown;
  close(...force: unknown[]): unknown;
}

/** A client that can't close has nothing that anybody waits for. */
function drop(client: object | undefined): void {
  if (client === undefined) return;
  const closable = client as Closable;
  closable.on("error", ignore);
  const args = client instanceof Consumer ? [true] : [];
  void Promise.resolve()
    .then(() => closable.close(...args))
    .catch(ignore);
}

function ignore(): void {}

function hostOf(broker: string): string {
  return broker.slice(0, broker.lastIndexOf(":")).replace(/^\[|\]$/g, "");
}

/** Rejects when an answer takes longer than it may. */
export async function within<T>(ms: number, what: string, run: () => Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`Kafka does not answer: ${what}`)), ms);
  const answer = run();
  // Whichever comes second has nobody who waits for it.
  answer.catch(ignore);
  try {
    return await Promise.race([answer, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
