import { loadOnce } from "../front/load-once.ts";
import type { WireConnection } from "./connection.ts";
import type { WireSession } from "./listener.ts";

type Open = (connection: WireConnection) => WireSession;

/** Sessions of a protocol whose code is loaded with its first connection: most servers never have one of each wire. */
export function openLate(load: () => Promise<Open>): Open {
  const loaded = loadOnce(load);
  return (connection) => new LateSession(async () => (await loaded())(connection));
}

class LateSession implements WireSession {
  readonly #open: () => Promise<WireSession>;
  #session: WireSession | undefined;

  constructor(open: () => Promise<WireSession>) {
    this.#open = open;
  }

  async run(): Promise<void> {
    this.#session = await this.#open();
    await this.#session.run();
  }

  /** One that is opened while the server drains finds that out itself. */
  drain(): void {
    this.#session?.drain();
  }

  expire(): void {
    this.#session?.expire();
  }
}
