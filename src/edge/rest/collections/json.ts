import { manifestBytes, manifestRecords } from "../../../engine/collection/collection-store.ts";
import type { CollectionInfo, ScanPlan } from "../../../engine/collection/collections.ts";
import { formatSchema } from "../../../engine/schema/schema-parse.ts";

export function infoJson(info: CollectionInfo) {
  const { meta, manifest, hot, backpressure, lance } = info;
  return {
    id: meta.id,
    namespace: meta.namespace,
    name: meta.name,
    aliases: info.aliases,
    schema: formatSchema(meta.schema),
    schema_version: meta.schemaVersion,
    manifest: {
      version: manifest.version,
      records: manifestRecords(manifest),
      bytes: manifestBytes(manifest),
      lance,
      applied: manifest.applied,
    },
    hot,
    backpressure: {
      throttled: backpressure.throttled,
      backlog_records: backpressure.backlogRecords,
      backlog_bytes: backpressure.backlogBytes,
      retry_after_ms: backpressure.retryAfterMs,
    },
  };
}

export function scanJson(plan: ScanPlan) {
  return { lance: plan.lance, tail_records: plan.tailRecords, schema: formatSchema(plan.schema), token: plan.token };
}
