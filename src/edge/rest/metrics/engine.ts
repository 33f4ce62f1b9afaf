import { statfs } from "node:fs/promises";
import { Gauge, type Registry } from "prom-client";
import type { Engine } from "../../../engine/engine.ts";
import { observeProcesses } from "./processes.ts";
import { readCounter, readCounters, readGauge, readGauges, rowsMax } from "./scrape.ts";

/** What operators alert on, read at each scrape: room on the disk, backlogs of indexes, the state of links, queues. */
export function observeEngine(registry: Registry, engine: Engine, dataDir: string): void {
  const registers = [registry];
  observeDisk(registers, dataDir);
  observeCollections(registers, engine);
  observeQuotas(registers, engine);
  observeLinks(registers, engine);
  observeLog(registers, engine);
  observeSql(registers, engine);
  observeLive(registers, engine);
}

function observeDisk(registers: Registry[], dataDir: string): void {
  for (const [name, help, blocks] of [
    ["free", "Bytes that the server may still write to the file system of its data", "bavail"],
    ["size", "Bytes of the file system of the data", "blocks"],
  ] as const) {
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
}

function observeCollections(registers: Registry[], engine: Engine): void {
  for (const unit of ["records", "bytes"] as const) {
    const help = `Writes that no segment of a collection holds yet, in ${unit}, for up to ${rowsMax} collections in use`;
    const labels = ["namespace", "collection"];
    readGauges(registers, `service_collection_backlog_${unit}`, help, labels, function* () {
      for (const { namespace, collection, ...backlog } of engine.backlogs()) {
        yield [{ namespace, collection }, backlog[unit]];
      }
    });
  }
  for (const [name, help] of [
    ["seals", "Tails that became segments"],
    ["merges", "Segments that were merged into larger ones"],
    ["rebuilds", "Indexes that were made anew from their documents"],
    ["failures", "Seals, merges and rebuilds that failed and are tried again"],
  ] as const) {
    readCounter(registers, `service_collection_${name}_total`, help, () => engine.indexing[name]);
  }
}

function observeQuotas(registers: Registry[], { quotas }: Engine): void {
  for (const [name, help, field] of [
    ["used", "Bytes that a namespace with a quota takes", "usedBytes"],
    ["max", "Bytes that the quota of a namespace allows", "maxBytes"],
  ] as const) {
    const bounded = `${help}, for up to ${rowsMax} namespaces`;
    readGauges(registers, `service_quota_${name}_bytes`, bounded, ["namespace"], function* () {
      for (const { namespace, ...quota } of quotas.all()) {
        if (quota.maxBytes !== null) yield [{ namespace }, quota[field] ?? 0];
      }
    });
  }
  const help = "Requests and writes that a quota refused";
  readCounters(registers, "service_quota_refusals_total", help, ["quota"], function* () {
    for (const [quota, refused] of Object.entries(quotas.refusals)) yield [{ quota }, refused];
  });
}

function observeLinks(registers: Registry[], { links }: Engine): void {
  const labels = ["namespace", "link"];
  const skipped = "Records that a link has passed over, since they did not have what it needs";
  readCounters(registers, "service_link_skipped_records_total", skipped, labels, function* () {
    for (const { link, skipped } of links.skips()) yield [{ namespace: link.namespace, link: link.name }, skipped];
  });
  const stuck = "1 for a link that does not advance because of an error, which its detail tells";
  readGauges(registers, "service_link_stuck", stuck, labels, function* () {
    for (const { link, error } of links.lags()) {
      yield [{ namespace: link.namespace, link: link.name }, error === undefined ? 0 : 1];
    }
  });
  const lag = "Records that a link has not applied yet";
  readGauges(registers, "service_link_lag_records", lag, labels, function* () {
    for (const { link, records } of links.lags()) yield [{ namespace: link.namespace, link: link.name }, records];
  });
  readCounter(registers, "service_link_records_total", "Records applied by all links", () => links.appliedRecords);
}

function observeLog(registers: Registry[], { log, committer }: Engine): void {
  const help = `Offset of the next record, for up to ${rowsMax} partitions in use`;
  readGauges(registers, "service_log_high_watermark", help, ["stream", "partition"], function* () {
    for (const { stream, partition, durableNext } of log.loadedPartitions()) {
      yield [{ stream: String(stream), partition: String(partition) }, durableNext];
    }
  });
  const queued = "Bytes that wait for the log's sync";
  readGauge(registers, "service_log_queue_bytes", queued, () => committer.queuedBytes);
}

function observeSql(registers: Registry[], { sql }: Engine): void {
  for (const [name, help] of [
    ["running", "SQL statements that work"],
    ["waiting", "SQL statements that are queued"],
    ["open", "SQL statements that work or whose rows are still read"],
  ] as const) {
    readGauge(registers, `service_sql_${name}`, help, () => sql.load[name]);
  }
  observeProcesses(registers, () => sql.processes);
}

function observeLive(registers: Registry[], { live }: Engine): void {
  for (const [name, help] of [
    ["sessions", "Open sessions of the Live engine"],
    ["running", "Live functions that run"],
    ["waiting", "Live functions that wait for a runner"],
  ] as const) {
    readGauge(registers, `service_live_${name}`, help, () => live.stats[name]);
  }
}
