import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Logger } from "pino";
import { FilesObjectStore } from "../adapter/files/object-store.ts";
import { filesOfVersion } from "../adapter/lance/files.ts";
import { NodeClock } from "../adapter/node/clock.ts";
import { NodeRandom } from "../adapter/node/random.ts";
import { SingleOwnership } from "../adapter/single/ownership.ts";
import { checkAuthConfig } from "../edge/auth/config.ts";
import type { HttpListener } from "../edge/cluster/mount.ts";
import { type ConsoleSignIn, createConsole } from "../edge/console/server.ts";
import { Cors } from "../edge/front/cors.ts";
import { createFront } from "../edge/front/front.ts";
import { createLiveFront } from "../edge/front/live-front.ts";
import { createRequestIds, type RequestIds } from "../edge/front/request-id.ts";
import type { ClusterControl } from "../edge/rest/instance/cluster.ts";
import { observeCluster } from "../edge/rest/metrics/cluster.ts";
import { Metrics } from "../edge/rest/metrics/metrics.ts";
import { createRest } from "../edge/rest/server.ts";
import { HealthState } from "../edge/rpc/health-state.ts";
import { ByteBudget } from "../edge/wire/byte-budget.ts";
import type { WireListener } from "../edge/wire/listener.ts";
import type { WirePeers } from "../edge/wire/peers.ts";
import { Backups } from "../engine/backup/backups.ts";
import type { Engine } from "../engine/engine.ts";
import { limits } from "../engine/limits.ts";
import { type Address, formatAddress } from "../listener/address.ts";
import type { FastHandler } from "../listener/fast-lane.ts";
import type { Handler } from "../listener/registry.ts";
import type { Ownership } from "../port/ownership.ts";
import type { Store } from "../port/store.ts";
import type { ServerConfig } from "./config/config.ts";
import { createEngine } from "./engine.ts";
import { type Identity, openIdentity } from "./identity.ts";
import { listenHosts, openListener, openLiveListener } from "./listeners.ts";
import { openMainStore } from "./main-store.ts";
import { type ObjectsPlace, openObjects } from "./objects.ts";
import { createRpc } from "./rpc.ts";
import { startSqlWires } from "./sql-wires.ts";
import { version } from "./version.ts";

/** What a server stands on that has no machine for itself: the server of a node of a cluster. */
export interface ServerHost {
  readonly store: Store;
  /** Where all nodes find the objects. */
  readonly objects: ObjectsPlace;
  readonly ownership: Ownership;
  readonly listen: (handler: Handler, fast: FastHandler | undefined) => HttpListener;
  readonly listenLive: (handler: Handler) => HttpListener | undefined;
  readonly cluster: ClusterControl;
  /** Where connections of the SQL wires come from, which another socket has taken in. */
  readonly wirePeers?: WirePeers;
  /** Of a standby: takes the engine, which must be notified of each commit from then on. */
  readonly follow?: (engine: Engine) => void;
}

interface Parts {
  readonly engine: Engine;
  readonly health: HealthState;
  readonly liveHealth: HealthState;
  readonly listener: HttpListener;
  readonly live: HttpListener | undefined;
  readonly postgres: WireListener | undefined;
  readonly mysql: WireListener | undefined;
  readonly drainTimeoutMs: number;
  /** What requests use, closed once there are none. */
  readonly opened: AsyncDisposableStack;
}

/** The composition root, where edges meet the engine. Adapters are constructed in this folder and in the command line only. */
export class Server {
  readonly url: string;
  /** Where the Postgres wire listens, as `host:port`; undefined where it does not. */
  readonly postgres: string | undefined;
  /** Where the MySQL wire listens, as `host:port`; undefined where it does not. */
  readonly mysql: string | undefined;
  /** Where the Live engine listens, as `host:port`; undefined where it does not. */
  readonly live: string | undefined;
  readonly #parts: Parts;

  private constructor(parts: Parts) {
    this.url = parts.listener.address.url;
    this.postgres = parts.postgres && formatAddress(parts.postgres.address);
    this.mysql = parts.mysql && formatAddress(parts.mysql.address);
    this.live = parts.live && formatAddress(parts.live.address);
    this.#parts = parts;
  }

  get postgresAddress(): Address | undefined {
    return this.#parts.postgres?.address;
  }

  get mysqlAddress(): Address | undefined {
    return this.#parts.mysql?.address;
  }

  /** `onFatal` is called when the store can't go on in this process. */
  static async start(
    config: ServerConfig,
    log: Logger,
    onFatal: (error: Error) => void,
    host?: ServerHost,
  ): Promise<Server> {
    if (host === undefined) for (const warning of checkAuthConfig(config.auth, listenHosts(config))) log.warn(warning);
    // Whatever fails below, what was opened before it is closed again, so that the process can end.
    await using opened = new AsyncDisposableStack();
    const { store, ownership, objects: place } = host ?? (await ownGround(config, log, onFatal, opened));
    const objects = await openObjects(place);
    const clock = new NodeClock();
    const random = new NodeRandom();
    const metrics = new Metrics();
    const engine = createEngine(config, log, { store, objects, place, ownership, clock, random, metrics });
    opened.defer(() => engine.stop());
    await begin(engine, host);
    // Requests come only once the listener listens, and with it there are its certificates.
    let listener: HttpListener | undefined;
    const identity = await openIdentity(config, log, {
      clock,
      random,
      opened,
      certificates: () => listener?.certificates,
      isStandby: host?.follow !== undefined,
      ...(host && { store: host.store }),
    });
    const { authStore, instance, keys, audit, authenticator } = identity;
    const bytes = new ByteBudget(limits.heldBytesMax);
    const keptBytes = new ByteBudget(limits.keptBytesMax, bytes);
    const requestId = createRequestIds();
    const hold = engine.objectHold;
    const stores = { store, authStore, objects, hold, clock };
    const backups = new Backups({ ...stores, serverVersion: version, datasetFiles: filesOfVersion });
    const everyEdge = { metrics, log, version, authenticator, requestId, bytes };
    const cluster = host && { cluster: host.cluster };
    const rest = await createRest({ ...everyEdge, engine, backups, instance: { keys, audit }, ...cluster });
    const admitRequest = (namespace: string) => engine.quotas.admitRequest(namespace);
    const health = new HealthState();
    const liveHealth = new HealthState();
    const cors = new Cors(config.corsOrigins);
    const shared = { engine, metrics, admitRequest, clock, random, bytes, keptBytes };
    const { rpc, liveRpc } = createRpc(config, log, { ...shared, identity, health, liveHealth, requestId, cors });
    opened.defer(() => rpc.close());
    const liveFront = createLiveFront({ rpc: liveRpc, authenticator, requestId, isReady: () => engine.isReady });
    const live = host === undefined ? await openLiveListener(config, liveFront, log) : host.listenLive(liveFront);
    if (live === undefined) instance.withdraw("live");
    opened.defer(() => live?.close());
    // Before the main port, so that one that can't be had stops the start while nobody is served.
    const certificate = () => listener?.certificatePair;
    const ofWires = { instance, authenticator, opened, certificate, peers: host?.wirePeers };
    const { postgres, mysql } = await startSqlWires(config, log, { ...shared, ...ofWires });
    const console = openConsole(config, identity, requestId, metrics);
    // Answers of the fast lane carry no header for pages of other origins.
    const front = createFront({ rest: rest.handle, rpc, console, cors });
    const fast = cors.isOn ? undefined : rest.fast;
    const started = host === undefined ? await openListener(config, front, fast, log) : host.listen(front, fast);
    listener = started;
    // Whatever fails from here on, requests that came meanwhile do not keep the process.
    opened.defer(() => started.close());
    metrics.observe(engine, config.dataDir, () => store.stats(), started);
    if (host !== undefined) observeCluster(metrics.registry, host.cluster);
    metrics.wires.observe({ http: started, postgres, mysql });
    health.setReady(true);
    liveHealth.setReady(true);
    const { drainTimeoutMs } = config;
    const parts = { engine, health, liveHealth, listener: started, live, postgres, mysql, drainTimeoutMs };
    return new Server({ ...parts, opened: opened.move() });
  }

  /** Answers what is in flight, then closes everything. */
  async stop(drainMs?: number): Promise<void> {
    const { engine, health, liveHealth, listener, live, postgres, mysql, opened } = this.#parts;
    const drainTimeoutMs = drainMs ?? this.#parts.drainTimeoutMs;
    // First, so that watchers hear of it while their connections still stand.
    health.drain();
    liveHealth.drain();
    // Before new work is refused: a request whose body is still coming is no new work.
    await Promise.all([listener.settle(), live?.settle()]);
    engine.drain();
    await Promise.all([listener, live, postgres, mysql].map((each) => each?.drain(drainTimeoutMs)));
    await opened.disposeAsync();
  }
}

/** As a standby it reads what another node writes; otherwise it writes itself. */
async function begin(engine: Engine, host: ServerHost | undefined): Promise<void> {
  if (host?.follow !== undefined) {
    engine.follow();
    host.follow(engine);
    return;
  }
  engine.sql.prepare();
  await engine.own();
}

/** What a server stands on that has a data folder for itself. */
async function ownGround(
  { dataDir }: ServerConfig,
  log: Logger,
  onFatal: (error: Error) => void,
  opened: AsyncDisposableStack,
): Promise<Pick<ServerHost, "store" | "ownership" | "objects">> {
  const ownership = opened.use(new SingleOwnership(dataDir));
  // Before the store is opened: another process's store must not be touched.
  await ownership.acquire(AbortSignal.timeout(10_000));
  const onError = (err: unknown) => log.error({ err }, "the commit log could not be applied; it will be tried again");
  const store = opened.adopt(await openMainStore(dataDir, { onFatal, onError }), (each) => each.close());
  const folder = join(dataDir, "objects");
  await new FilesObjectStore(folder).removePartial();
  return { store, ownership, objects: { kind: "files", folder } };
}

function openConsole(
  config: ServerConfig,
  { authenticator }: Identity,
  requestId: RequestIds,
  metrics: Metrics,
): ReturnType<typeof createConsole> {
  return createConsole({
    folder: fileURLToPath(new URL("../../build/console/", import.meta.url)),
    authenticator,
    requestId,
    signIn: consoleSignIn(config),
    onRequest: (...answered) => metrics.onRequest(...answered),
  });
}

/** People sign in to the console at the identity provider where it knows the console. */
function consoleSignIn({ auth }: ServerConfig): ConsoleSignIn | undefined {
  if (auth.oidc?.clientId === undefined) return undefined;
  return { issuer: auth.oidc.issuer, clientId: auth.oidc.clientId, scope: "openid profile email" };
}
