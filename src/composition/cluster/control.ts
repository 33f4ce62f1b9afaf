import type { Member } from "../../adapter/replicated/member.ts";
import type { ClusterFront } from "../../edge/cluster/front.ts";
import type { ClusterControl } from "../../edge/rest/instance/cluster.ts";

export interface ControlDeps {
  readonly member: Member;
  readonly node: string;
  readonly counts: ClusterFront["counts"];
  readonly newestSnapshot: () => ClusterControl["snapshot"];
  /** To another node, or to whoever claims the place. Returns at once. */
  readonly handOver: (to?: string) => void;
}

/** What administrators see of the cluster from this node, and what they can do to it. */
export function controlOf({ member, node: name, counts, newestSnapshot, handOver }: ControlDeps): ClusterControl {
  return {
    node: name,
    get snapshot() {
      return newestSnapshot();
    },
    get own() {
      const { role, lag, silentMs } = member;
      return { role, lagEntries: lag.entries, lagMs: lag.ms, silentMs, ...counts };
    },
    get epoch() {
      return member.epoch;
    },
    get position() {
      return member.position;
    },
    nodes: () =>
      member.nodes.map(({ node, address, version: build, position = 0, silentMs, full }) => ({
        node,
        address,
        version: build ?? null,
        isOwner: node === name,
        position: node === name ? member.position : position,
        silentMs,
        isDrained: member.drained.includes(node),
        isFull: full === true,
      })),
    move: async (to) => handOver(to),
    hasHeir: (node) => member.hasHeir(node),
    drain: async (node, isDrained) => {
      await member.drain(node, isDrained);
      if (isDrained && node === name) handOver();
    },
  };
}
