import { join } from "node:path";
import type { Logger } from "pino";
import { KafkaSharedLog } from "../../adapter/kafka/shared-log.ts";
import { LmdbApplier } from "../../adapter/lmdb/applier.ts";
import type { LmdbStore } from "../../adapter/lmdb/store.ts";
import { LoggedStore, storedCursor } from "../../adapter/logged/store.ts";
import { NodeRandom } from "../../adapter/node/random.ts";
import { ReplicatedLog } from "../../adapter/replicated/commit-log.ts";
import type { Cursor } from "../../adapter/replicated/fold.ts";
import type { Member } from "../../adapter/replicated/member.ts";
import { Snapshots } from "../../adapter/replicated/snapshot.ts";
import { SnapshotKeeper } from "../../adapter/replicated/snapshot-keeper.ts";
import { checkFormat } from "../../engine/format.ts";
import type { Clock } from "../../port/clock.ts";
import type { Bytes } from "../../port/store.ts";
import type { ServerConfig } from "../config/config.ts";
import { freeBytes } from "../main-store.ts";
import { version } from "../version.ts";
import { kafkaAddress } from "./address.ts";
import { clusterPlace, openClusterObjects } from "./objects.ts";
import { commitMark, markOf, openReplica } from "./replica.ts";

/** What a node stands on for its whole life. */
export interface Ground {
  readonly store: LoggedStore;
  readonly replicated: ReplicatedLog;
  readonly keeper: SnapshotKeeper;
}

export interface GroundDeps {
  readonly node: { readonly name: string; readonly address: string };
  readonly log: Logger;
  readonly clock: Clock;
  readonly onRole: (role: Member["role"]) => void;
  /** Called with each commit of another node. */
  readonly onIngested: (entry: Bytes) => void;
  readonly onFatal: (error: Error) => void;
}

/** At most one warning in this time: an unreachable log is tried again many times a second. */
const warnMs = 10_000;

export async function openGround(config: ServerConfig, deps: GroundDeps): Promise<Ground> {
  const { dataDir, clusterLog, clusterKeys, clusterLogCaFile } = config;
  const { node, log, clock, onFatal } = deps;
  const objects = await openClusterObjects(clusterPlace(config), log);
  const folder = join(dataDir, "store");
  const shared = await KafkaSharedLog.open(kafkaAddress(clusterLog!, clusterKeys, clusterLogCaFile), clusterLog!);
  const snapshots = new Snapshots(objects, shared.id);
  const view = await openReplica({ folder, log: shared, snapshots, logger: log, onFatal });
  try {
    await checkFormat(view);
    const replicated = await ReplicatedLog.open({
      log: shared,
      clock,
      writer: `${node.name}/${Buffer.from(new NodeRandom().bytes(8)).toString("hex")}`,
      info: { node: node.name, address: node.address, version },
      cursor: storedCursor(view, commitMark) as Cursor | undefined,
      onRole: deps.onRole,
      onError: unreachable(log, clock),
      onFatal,
    });
    const store = await LoggedStore.open({
      view,
      applier: new LmdbApplier(view, folder),
      log: replicated,
      clock,
      mark: commitMark,
      freeBytes: () => freeBytes(dataDir),
      onIngested: deps.onIngested,
      onError: (err) => log.error({ err }, "the log could not be applied; it will be tried again"),
    });
    return {
      store,
      replicated,
      keeper: keepSnapshots(config, deps, { snapshots, view, log: shared }, replicated.member),
    };
  } catch (error) {
    await view.close();
    throw error;
  }
}

function unreachable(log: Logger, clock: Clock): (error: unknown) => void {
  let warnedMs = -Infinity;
  return (err) => {
    const nowMs = clock.steadyMs();
    if (nowMs - warnedMs < warnMs) return;
    warnedMs = nowMs;
    log.warn({ err }, "the log of the cluster could not be reached; it will be tried again");
  };
}

interface SnapshotSources {
  readonly snapshots: Snapshots;
  readonly view: LmdbStore;
  readonly log: KafkaSharedLog;
}

function keepSnapshots(
  config: ServerConfig,
  { node, log, clock }: GroundDeps,
  sources: SnapshotSources,
  member: Member,
): SnapshotKeeper {
  return new SnapshotKeeper({
    ...sources,
    markOf,
    member,
    node: node.name,
    clock,
    random: new NodeRandom(),
    intervalMs: config.clusterSnapshotIntervalMs,
    onMade: ({ position, entries }, ms) =>
      log.info({ position, entries, ms: Math.round(ms) }, "cluster: a snapshot was made"),
    onError: (err) => log.warn({ err }, "cluster: snapshots can't be made or read; it will be tried again"),
  });
}
