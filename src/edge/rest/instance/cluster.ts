import { EngineError, invalid } from "../../../engine/errors.ts";
import type { Route } from "../route.ts";
import { answer, array, count, object, optional, text } from "../schemas.ts";

export interface ClusterNodeStatus {
  readonly node: string;
  readonly address: string;
  readonly version: string | null;
  readonly isOwner: boolean;
  /** The newest commit that it is known to have. */
  readonly position: number;
  /** Since it was heard of. */
  readonly silentMs: number;
  /** It is not to become the owner. */
  readonly isDrained: boolean;
  /** Its disk has no room. */
  readonly isFull: boolean;
}

/** What a node knows of itself. */
export interface OwnStatus {
  readonly role: string;
  /** How far it is behind the log. */
  readonly lagEntries: number;
  readonly lagMs: number;
  /** Since an accepted entry was read. */
  readonly silentMs: number;
  /** Requests it has passed on to the owner, and reads it has answered itself. */
  readonly passedOn: number;
  readonly answered: number;
}

/** The newest snapshot of the store that a node knows of. */
export interface SnapshotStatus {
  /** The last commit that is in it; 0 where there is none. */
  readonly position: number;
  /** Since the node has known it, or has been up where there is none. */
  readonly ageMs: number;
}

/** A node's hand on its cluster. */
export interface ClusterControl {
  readonly node: string;
  readonly epoch: number;
  readonly position: number;
  readonly own: OwnStatus;
  readonly snapshot: SnapshotStatus;
  nodes(): readonly ClusterNodeStatus[];
  /** Gives the place to another node. Resolves when that is under way. */
  move(to: string | undefined): Promise<void>;
  /** Keeps a node from being the owner, or lets it again; resolves when the log has it. The owner itself then gives its place up. */
  drain(node: string, isDrained: boolean): Promise<void>;
  /** Whether a node other than this one is alive and may become the owner. */
  hasHeir(node: string): boolean;
}

const nodeJson = {
  node: text,
  address: text,
  version: optional(text),
  role: { type: "string", enum: ["owner", "standby"] },
  position: count,
  lag: count,
  silent_ms: count,
  drained: { type: "boolean", description: "It does not become the owner while another node can" },
  problem: { ...optional(text), description: "What is wrong with it, if anything" },
};

/** Nodes are heard of every two seconds. */
const silentMsMax = 6_000;
/** Commits: more than a standby has on its way while the owner is busy. */
const lagMax = 1_000;

function problemOf({ isOwner, isFull, silentMs, position }: ClusterNodeStatus, newest: number): string | null {
  if (isFull) return "the disk has no room";
  if (isOwner) return null;
  if (silentMs > silentMsMax) return `not heard of for ${Math.round(silentMs / 1000)} s`;
  return newest - position > lagMax ? `behind by ${newest - position} commits` : null;
}

/** Only where the server is a node of a cluster. */
export function clusterRoutes(cluster: ClusterControl): Route[] {
  return [nodesRoute(cluster), ...ownerRoutes(cluster)];
}

function nodesRoute(cluster: ClusterControl): Route {
  return {
    method: "GET",
    url: "/v1/cluster",
    access: "instance-read",
    tag: "operations",
    schema: {
      summary: "The nodes of the cluster, as the owner knows them",
      response: {
        200: answer("The cluster", {
          owner: text,
          epoch: count,
          position: count,
          snapshot_position: { ...count, description: "The last commit in the newest snapshot, 0 without one" },
          snapshot_age_ms: { ...count, description: "Since the owner has known that snapshot" },
          nodes: array({ type: "object", properties: nodeJson }),
        }),
      },
    },
    handler: () => {
      const { node: owner, epoch, position, snapshot } = cluster;
      const nodes = cluster.nodes().map((each) => ({
        node: each.node,
        address: each.address,
        version: each.version,
        role: each.isOwner ? "owner" : "standby",
        position: each.position,
        lag: Math.max(0, position - each.position),
        silent_ms: Math.round(each.silentMs),
        drained: each.isDrained,
        problem: problemOf(each, position),
      }));
      const status = { snapshot_position: snapshot.position, snapshot_age_ms: Math.round(snapshot.ageMs) };
      return { owner, epoch, position, ...status, nodes };
    },
  };
}

function ownerRoutes(cluster: ClusterControl): Route[] {
  return [
    {
      method: "POST",
      url: "/v1/cluster/move",
      access: "instance-admin",
      tag: "operations",
      schema: {
        summary: "Make another node the owner",
        body: object({ to: { ...optional(text), description: "The node; default: any" } }, []),
        response: { 202: answer("Started", { owner: text }) },
      },
      handler: async (request, reply) => {
        const to = (request.body as { readonly to?: string | null }).to ?? undefined;
        if (to === cluster.node) throw new EngineError("already_exists", `${to} is the owner`);
        const heir = to === undefined ? undefined : found(cluster, "to", to);
        if (heir?.isDrained) {
          throw new EngineError("failed_precondition", `${to} is drained: it is not to become the owner`);
        }
        const problem = heir && problemOf(heir, cluster.position);
        if (problem != null) throw new EngineError("failed_precondition", `${to} can't be the owner: ${problem}`);
        if (!cluster.hasHeir(cluster.node)) {
          throw new EngineError("failed_precondition", "no other node is alive that could be the owner");
        }
        await cluster.move(to);
        return reply.code(202).send({ owner: cluster.node });
      },
    },
    {
      method: "POST",
      url: "/v1/cluster/drain",
      access: "instance-admin",
      tag: "operations",
      schema: {
        summary: "Keep a node from being the owner, or allow it again",
        body: object(
          {
            node: text,
            drained: { type: "boolean", default: true, description: "false lets it become the owner again" },
          },
          ["node"],
        ),
        response: { 200: answer("Done", { node: text, drained: { type: "boolean" } }) },
      },
      handler: async (request) => {
        const { node, drained = true } = request.body as { readonly node: string; readonly drained?: boolean };
        found(cluster, "node", node);
        if (drained && !cluster.hasHeir(node)) {
          throw new EngineError("failed_precondition", "no other node is alive that could be the owner");
        }
        await cluster.drain(node, drained);
        return { node, drained };
      },
    },
  ];
}

function found(cluster: ClusterControl, field: string, name: string): ClusterNodeStatus {
  const node = cluster.nodes().find((each) => each.node === name);
  if (node === undefined) throw invalid(field, "must be the name of a node of the cluster");
  return node;
}
