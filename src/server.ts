import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Logger } from "pino";
import { FilesObjectStore } from "./adapter/files/object-store.ts";
import { LmdbStore } from "./adapter/lmdb/store.ts";
import { NodeClock } from "./adapter/node/clock.ts";
import { NodeRandom } from "./adapter/node/random.ts";
import { SingleOwnership } from "./adapter/single/ownership.ts";
import { WorkerThreads } from "./adapter/threads/threads.ts";
import type { ServerConfig } from "./config.ts";
import { createAuthenticator } from "./edge/auth/authenticator.ts";
import { checkAuthConfig } from "./edge/auth/config.ts";
import { Metrics } from "./edge/rest/metrics.ts";
import { createRest } from "./edge/rest/server.ts";
import { ApiKeys } from "./engine/auth/keys.ts";
import { defaultCollectionSettings } from "./engine/collection/settings.ts";
import { Engine } from "./engine/engine.ts";
import { Listener } from "./listener/listener.ts";
import { version } from "./version.ts";

/** API keys live in a store of their own, which the command line may write while the server runs. */
export function openAuthStore(dataDir: string): LmdbStore {
  return new LmdbStore(join(dataDir, "auth"), { shared: true });
}

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

  /** `onFatal` is called when the store can't go on in this process. */
  static async start(config: ServerConfig, log: Logger, onFatal: (error: Error) => void): Promise<Server> {
    for (const warning of checkAuthConfig(config.auth, [config.listen.host])) log.warn(warning);
    // Whatever fails below, what was opened before it is closed again, so that the process can end.
    await using opened = new AsyncDisposableStack();
    mkdirSync(config.dataDir, { recursive: true, mode: 0o700 });
    const ownership = opened.use(new SingleOwnership(config.dataDir));
    // Before the store is opened: another process's store must not be touched.
    await ownership.acquire(AbortSignal.timeout(10_000));
    const store = opened.adopt(new LmdbStore(join(config.dataDir, "store"), { exclusive: true, onFatal }), (each) =>
      each.close(),
    );
    const clock = new NodeClock();
    const random = new NodeRandom();
    const metrics = new Metrics();
    const engine = new Engine(
      {
        store,
        objects: new FilesObjectStore(join(config.dataDir, "objects")),
        ownership,
        clock,
        random,
        threads: new WorkerThreads(new URL("./worker.ts", import.meta.url), { dataDir: config.dataDir }),
      },
      { dedupWindowMs: config.dedupWindowMs, collections: defaultCollectionSettings },
      {
        onCommitGroup: (group) => metrics.onCommitGroup(group),
        onBackgroundError: (err) => log.error({ err }, "background work failed; it will be tried again"),
      },
    );
    opened.defer(() => engine.stop());
    await engine.start();
    const authStore = opened.adopt(openAuthStore(config.dataDir), (each) => each.close());
    const keys = new ApiKeys({ store: authStore, clock, random, fixed: config.auth.fixedKeys });
    const authenticator = createAuthenticator(config.auth, { keys, clock, report: (message) => log.warn(message) });
    opened.defer(() => authenticator.close());
    authenticator.prepare();
    const rest = await createRest({ engine, metrics, log, version, authenticator });
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
