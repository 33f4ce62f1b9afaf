import { statfs } from "node:fs/promises";
import { Counter, Gauge, type Registry } from "prom-client";
import type { Engine } from "../../../engine/engine.ts";

/** Collections and links are shown up to this many, so that a scrape stays small. */
const namedMax = 1_000;

/** What operators alert on, read at each scrape: room on the disk, backlogs of indexes, the state of links. */
export function observeEngine(registry: Registry, engine: Engine, dataDir: string): void {
  const registers = [registry];
  const disk = [
    ["free", "Bytes that the server may still write to the file system of its data", "bavail"],
    ["size", "Bytes of the file system of the data", "blocks"],
  ] as const;
  for (const [name, help, blocks] of disk) {
    new Gauge({
      name: `service_disk_${name}_bytes`,
      help,
      registers,
      async collect() {
        const found = await statfs(dataDir);
        this.set(found[blocks] * found.bsize);
      },
    });
  }
  for (const unit of ["records", "bytes"] as const) {
    new Gauge({
      name: `service_collection_backlog_${unit}`,
      help: `Writes that no segment of a collection holds yet, in ${unit}, for up to ${namedMax} collections in use`,
      labelNames: ["namespace", "collection"],
      registers,
      collect() {
        this.reset();
        let left = namedMax;
        for (const { namespace, collection, ...backlog } of engine.backlogs()) {
          if (left-- === 0) return;
          this.set({ namespace, collection }, backlog[unit]);
        }
      },
    });
  }
  const indexing = [
    ["seals", "Tails that became segments"],
    ["merges", "Segments that were merged into larger ones"],
    ["rebuilds", "Indexes that were made anew from their documents"],
    ["failures", "Seals, merges and rebuilds that failed and are tried again"],
  ] as const;
  for (const [name, help] of indexing) {
    new Counter({
      name: `service_collection_${name}_total`,
      help,
      registers,
      collect() {
        this.reset();
        this.inc(engine.indexing[name]);
      },
    });
  }
  const quotas = [
    ["used", "Bytes that a namespace with a quota takes", "usedBytes"],
    ["max", "Bytes that the quota of a namespace allows", "maxBytes"],
  ] as const;
  for (const [name, help, field] of quotas) {
    new Gauge({
      name: `service_quota_${name}_bytes`,
      help: `${help}, for up to ${namedMax} namespaces`,
      labelNames: ["namespace"],
      registers,
      collect() {
        this.reset();
        let left = namedMax;
        for (const { namespace, ...quota } of engine.quotas.all()) {
          if (quota.maxBytes === null) continue;
          if (left-- === 0) return;
          this.set({ namespace }, quota[field] ?? 0);
        }
      },
    });
  }
  new Counter({
    name: "service_quota_refusals_total",
    help: "Requests and writes that a quota refused",
    labelNames: ["quota"],
    registers,
    collect() {
      this.reset();
      for (const [quota, refused] of Object.entries(engine.quotas.refusals)) this.inc({ quota }, refused);
    },
  });
  new Counter({
    name: "service_link_skipped_records_total",
    help: "Records that a link has passed over, since they did not have what it needs",
    labelNames: ["namespace", "link"],
    registers,
    collect() {
      this.reset();
      let left = namedMax;
      for (const { link, skipped } of engine.links.skips()) {
        if (left-- === 0) return;
        this.inc({ namespace: link.namespace, link: link.name }, skipped);
      }
    },
  });
  new Gauge({
    name: "service_link_stuck",
    help: "1 for a link that does not advance because of an error, which its detail tells",
    labelNames: ["namespace", "link"],
    registers,
    collect() {
      this.reset();
      let left = namedMax;
      for (const { link, error } of engine.links.lags()) {
        if (left-- === 0) return;
        this.set({ namespace: link.namespace, link: link.name }, error === undefined ? 0 : 1);
      }
    },
  });
}
