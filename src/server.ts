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
  readonly #listener: Listener;
  readonly #drainTimeoutMs: number;
  readonly #engine: Engine;
  readonly #opened: AsyncDisposableStack;

  private constructor(engine: Engine, listener: Listener, drainTimeoutMs: number, opened: AsyncDisposableStack) {
    this.url = listener.address.url;
    this.#engine = engine;
    this.#listener = listener;
    this.#drainTimeoutMs = drainTimeoutMs;
    this.#opened = opened;
  }

  static async start(config: Config, log: Logger): Promise<Server> {
    // Whatever fails below, what was opened before it is closed again, so that the process can end.
    await using opened = new AsyncDisposableStack();
    mkdirSync(config.dataDir, { recursive: true });
    const ownership = opened.use(new SingleOwnership(config.dataDir));
    // Before the store is opened: another process's store must not be touched.
    await ownership.acquire(AbortSignal.timeout(10_000));
    const store = opened.adopt(new LmdbStore(join(config.dataDir, "store")), (each) => each.close());
    const metrics = new Metrics();
    const engine = new Engine(
      {
        store,
        objects: new FilesObjectStore(join(config.dataDir, "objects")),
        ownership,
        clock: new NodeClock(),
        random: new NodeRandom(),
      },
      {
        onCommitGroup: (group) => metrics.onCommitGroup(group),
        onBackgroundError: (err) => log.error({ err }, "background work failed; it will be tried again"),
      },
    );
    opened.defer(() => engine.stop());
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
    metrics.observe(engine, () => store.stats(), listener);
    return new Server(engine, listener, config.drainTimeoutMs, opened.move());
  }

  /** Answers what is in flight, then closes everything. */
  async stop(): Promise<void> {
    this.#engine.drain();
    await this.#listener.drain(this.#drainTimeoutMs);
    await this.#opened.disposeAsync();
  }
}
