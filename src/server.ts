import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Logger } from "pino";
import { FilesObjectStore } from "./adapter/files/object-store.ts";
import { LmdbStore } from "./adapter/lmdb/store.ts";
import { NodeClock } from "./adapter/node/clock.ts";
import { NodeRandom } from "./adapter/node/random.ts";
import { SingleOwnership } from "./adapter/single/ownership.ts";
import type { Config } from "./config.ts";
import { Metrics } from "./edge/rest/metrics.ts";
import { createRest } from "./edge/rest/server.ts";
import { Engine } from "./engine/engine.ts";
import { Listener } from "./listener/listener.ts";
import { version } from "./version.ts";

/** The composition root: the only place where adapters are constructed and edges meet the engine. */
export class Server {
  readonly url: string;
  readonly #engine: Engine;
  readonly #listener: Listener;
  readonly #store: LmdbStore;
  readonly #drainTimeoutMs: number;

  private constructor(engine: Engine, listener: Listener, store: LmdbStore, drainTimeoutMs: number) {
    this.url = listener.address.url;
    this.#engine = engine;
    this.#listener = listener;
    this.#store = store;
    this.#drainTimeoutMs = drainTimeoutMs;
  }

  static async start(config: Config, log: Logger): Promise<Server> {
    mkdirSync(config.dataDir, { recursive: true });
    const ownership = new SingleOwnership(config.dataDir);
    // Before the store is opened: another process's store must not be touched.
    await ownership.acquire(AbortSignal.timeout(10_000));
    const store = new LmdbStore(join(config.dataDir, "store"));
    const metrics = new Metrics();
    const engine = new Engine(
      {
        store,
        objects: new FilesObjectStore(join(config.dataDir, "objects")),
        ownership,
        clock: new NodeClock(),
        random: new NodeRandom(),
      },
      { dedupWindowMs: config.dedupWindowMs },
      {
        onCommitGroup: (group) => metrics.onCommitGroup(group),
        onBackgroundError: (err) => log.error({ err }, "background work failed; it will be tried again"),
      },
    );
    await engine.start();
    const rest = await createRest({ engine, metrics, log, version });
    const { tlsCertFile, tlsKeyFile } = config;
    const listener = await Listener.start({
      ...config.listen,
      ...(tlsCertFile === undefined || tlsKeyFile === undefined
        ? {}
        : { tls: { certFile: tlsCertFile, keyFile: tlsKeyFile } }),
      limits: { connectionsMax: config.connectionsMax },
      handler: rest,
      log,
    });
    metrics.observe(
      engine,
      () => store.stats().diskBytes,
      () => listener.connections,
    );
    return new Server(engine, listener, store, config.drainTimeoutMs);
  }

  /** Answers what is in flight, then closes everything. */
  async stop(): Promise<void> {
    this.#engine.drain();
    await this.#listener.drain(this.#drainTimeoutMs);
    await this.#engine.stop();
    await this.#store.close();
  }
}
