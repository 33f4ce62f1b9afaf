import type { Draft } from "../commit/draft.ts";
import { EngineError } from "../errors.ts";
import type { CloudEvent } from "../event/cloud-event.ts";
import { encodeRecords } from "../event/encoded-events.ts";
import type { Log } from "../log/log.ts";
import type { Metastore } from "../metastore/metastore.ts";
import { creationMicrosOf, creationTimeOf, formatId } from "./document-id.ts";
import type { Moment } from "./snapshots.ts";
import type { Change } from "./transaction.ts";
import { bytesOf, int64Of, isObject, type LiveValue } from "./value.ts";

const typePrefix = "service.live.v1";

/** The changes of a commit as CloudEvents, by the stream that their tables name. Of most commits there are none. */
export function changeEvents(namespace: string, changes: Iterable<Change>, { tick, micros }: Moment) {
  const streams = new Map<string, CloudEvent[]>();
  for (const change of changes) {
    const { events } = change.table;
    if (events === undefined || (change.before === undefined && change.after === undefined)) continue;
    const batch = streams.get(events) ?? [];
    batch.push(eventOf(namespace, change, `${tick}-${batch.length}`, new Date(micros / 1_000).toISOString()));
    streams.set(events, batch);
  }
  return streams;
}

/** In the commit of the changes, so that each is written once. A dropped stream gets none. */
export function stageEvents(
  { log, metastore }: { readonly log: Log; readonly metastore: Metastore },
  draft: Draft,
  namespace: string,
  streams: ReadonlyMap<string, readonly CloudEvent[]>,
  { micros }: Moment,
): void {
  for (const [name, events] of streams) {
    try {
      const stream = metastore.stagedStream(draft, metastore.stream(namespace, name));
      const { batches } = encodeRecords(events, stream, undefined, Math.floor(micros / 1_000));
      for (const { partition, encoded } of batches) log.stageAppend(draft, stream, partition, encoded);
    } catch (error) {
      if (!(error instanceof EngineError && error.reason === "not_found")) throw error;
    }
  }
}

/** Its key is the document's number, by which a link to a collection finds it; without data it deletes. */
function eventOf(namespace: string, { table, key, before, after }: Change, id: string, time: string): CloudEvent {
  const kind = before === undefined ? "inserted" : after === undefined ? "deleted" : "updated";
  const number = creationMicrosOf(key);
  const _id = formatId({ table: table.number, key });
  const data = after && { _id, _creationTime: creationTimeOf(key), _number: number, ...plainFields(after.document) };
  return {
    specversion: "1.0",
    id,
    source: `/namespaces/${namespace}/live/${table.name}`,
    type: `${typePrefix}.${kind}`,
    subject: _id,
    time,
    dataschema: undefined,
    datacontenttype: data === undefined ? undefined : "application/json",
    extensions: [{ name: "partitionkey", value: String(number) }],
    data: data && Buffer.from(JSON.stringify(data)),
  };
}

function plainFields(fields: Readonly<Record<string, LiveValue>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, plain(value)]));
}

/** As other programs know JSON: an int64 is a number where that is exact, else text; bytes are base64. */
function plain(value: LiveValue): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (!isObject(value)) return value;
  const integer = int64Of(value);
  if (integer !== undefined) return Number.isSafeInteger(Number(integer)) ? Number(integer) : String(integer);
  const bytes = bytesOf(value);
  return bytes === undefined ? plainFields(value) : bytes.toString("base64");
}
