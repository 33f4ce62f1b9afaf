import { createTopic } from "../../adapter/kafka/topic.ts";
import { type Client, ServiceError } from "../../client/index.ts";
import { kafkaAddress } from "../../composition/cluster/address.ts";
import { loadClusterKeys, parseClusterLog } from "../../composition/config/cluster.ts";
import { readSecret } from "../../composition/config/config.ts";
import { CommandFailure, UsageError } from "../command.ts";
import type { Run } from "../spec.ts";

interface ClusterAnswer {
  readonly owner: string;
  readonly epoch: number;
  readonly position: number;
  readonly snapshot_position: number;
  readonly snapshot_age_ms: number;
  readonly nodes: readonly {
    readonly node: string;
    readonly address: string;
    readonly version: string | null;
    readonly role: string;
    readonly position: number;
    readonly lag: number;
    readonly silent_ms: number;
    readonly drained: boolean;
    readonly problem: string | null;
  }[];
}

/** Makes the topic that a cluster keeps its log in. */
export const initCluster: Run = async (context) => {
  const text = context.text("cluster-log") ?? context.env["SERVICE_CLUSTER_LOG"];
  if (!text) throw new UsageError("--cluster-log or SERVICE_CLUSTER_LOG must name the cluster's log");
  const log = parseClusterLog(text, "cluster-log");
  const replicas = context.whole("replicas", 1, 9) ?? 3;
  if (replicas < 3 && !log.allowsLoss) {
    throw new UsageError(
      "with fewer than 3 replicas acknowledged writes can be lost: ?replication=any allows it, for a test",
    );
  }
  const address = kafkaAddress(
    log,
    loadClusterKeys(log, context.env, readSecret),
    context.env["SERVICE_CLUSTER_LOG_CA_FILE"] || undefined,
  );
  let isNew: boolean;
  try {
    isNew = await createTopic(address, { replicas, flush: context.flag("flush") });
  } catch (error) {
    throw new CommandFailure("unavailable", `the topic could not be created: ${(error as Error).message}`);
  }
  const value = { topic: address.topic, created: isNew };
  await context.out.value(value, () => `topic ${address.topic} ${isNew ? "is made" : "was there already"}`);
  return undefined;
};

/** A server that is no node has no such routes. */
async function askNode<T>(client: Client, call: Parameters<Client["request"]>[0]): Promise<T> {
  try {
    return await client.request<T>(call);
  } catch (error) {
    if (!(error instanceof ServiceError && error.reason === "not_found")) throw error;
    const hint = "A server joins a cluster with SERVICE_CLUSTER_LOG: see docs/cluster.md.";
    throw new CommandFailure("failed_precondition", "this server is no node of a cluster", hint);
  }
}

export const clusterStatus: Run = async ({ client, out, signal }) => {
  const found = await askNode<ClusterAnswer>(client, {
    method: "GET",
    path: "/v1/cluster",
    repeatable: true,
    kind: "read",
    signal,
  });
  if (!out.json) {
    out.say(`owner ${found.owner}, epoch ${found.epoch}, position ${found.position}`);
    const { snapshot_position: at, snapshot_age_ms: ageMs } = found;
    out.say(at === 0 ? "no snapshot yet" : `snapshot of position ${at}, ${Math.round(ageMs / 1000)} s old`);
    out.say("");
  }
  if (out.json) await out.value(found, () => "");
  else {
    await out.list("nodes", found.nodes, {
      NODE: ({ node }) => node,
      ROLE: ({ role, drained }) => (drained ? `${role}, drained` : role),
      ADDRESS: ({ address }) => address,
      VERSION: ({ version }) => version ?? "",
      POSITION: ({ position }) => position,
      LAG: ({ lag }) => lag,
      "SEEN AGO": ({ silent_ms }) => `${(silent_ms / 1000).toFixed(1)} s`,
      PROBLEM: ({ problem }) => problem ?? "",
    });
  }
  return undefined;
};

export const moveOwner: Run = async ({ client, out, args, signal }) => {
  const [to] = args;
  const body = to === undefined ? {} : { to };
  await askNode(client, { method: "POST", path: "/v1/cluster/move", body, repeatable: false, kind: "write", signal });
  await out.value({ moving: true, to: to ?? null }, () => `the owner's place goes to ${to ?? "another node"}`);
  return undefined;
};

export const drainNode: Run = async (context) => {
  const { client, out, args, signal } = context;
  const [node = ""] = args;
  const drained = !context.flag("undo");
  const body = { node, drained };
  await askNode(client, { method: "POST", path: "/v1/cluster/drain", body, repeatable: true, kind: "write", signal });
  await out.value(body, () => (drained ? `${node} is drained: it can be stopped` : `${node} may be the owner again`));
  return undefined;
};
