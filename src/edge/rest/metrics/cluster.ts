import type { Registry } from "prom-client";
import type { ClusterControl } from "../instance/cluster.ts";
import { readCounter, readGauge } from "./scrape.ts";

/** What a node knows of its part in the cluster, read at each scrape. */
export function observeCluster(registry: Registry, cluster: ClusterControl): void {
  const registers = [registry];
  const gauges: readonly (readonly [string, string, () => number])[] = [
    ["is_owner", "1 on the node that is the owner, 0 on the others", () => (cluster.own.role === "owner" ? 1 : 0)],
    ["epoch", "How often the place of the owner was taken", () => cluster.epoch],
    ["position", "The newest commit that this node has", () => cluster.position],
    ["lag_entries", "Entries of the log that this node has not read yet", () => cluster.own.lagEntries],
    [
      "lag_seconds",
      "Time since this node last had read all of the log; 0 on the owner",
      () => cluster.own.lagMs / 1000,
    ],
    ["silent_seconds", "Time since this node has read an entry of the owner", () => cluster.own.silentMs / 1000],
    [
      "snapshot_position",
      "The last commit in the newest snapshot that this node knows, 0 without one",
      () => cluster.snapshot.position,
    ],
    [
      "snapshot_age_seconds",
      "Time since this node has known its newest snapshot, or has been up without one",
      () => cluster.snapshot.ageMs / 1000,
    ],
  ];
  for (const [name, help, read] of gauges) readGauge(registers, `service_cluster_${name}`, help, read);
  for (const [name, help, field] of [
    ["passed_on", "Requests that this node has passed on to the owner", "passedOn"],
    ["answered", "Reads that this node has answered in place of the owner", "answered"],
  ] as const) {
    readCounter(registers, `service_cluster_${name}_total`, help, () => cluster.own[field]);
  }
}
