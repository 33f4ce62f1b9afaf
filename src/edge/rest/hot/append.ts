import type { DocumentRef } from "../../../engine/collection/documents.ts";
import type { Engine } from "../../../engine/engine.ts";
import { KeptStream } from "../../../engine/metastore/metastore.ts";
import type { AppendCommand, StreamRef } from "../../../engine/stream/streams.ts";
import { formatToken } from "../../../engine/token.ts";
import { TargetStart } from "../../../listener/numbered-target.ts";
import { BatchBuffers } from "../batch-buffers.ts";
import { parseJson } from "../body.ts";
import { parseOps } from "../collection-json.ts";
import { recordCodec } from "../record-codec.ts";
import { encodeRecords, parseRecords, type RecordJson } from "../record-json.ts";
import { release } from "../release.ts";
import { bodyIdempotency, replayedHeader, tokenHeaders } from "../route.ts";
import { type WriteBody, writeBody, writeReplyText } from "../routes/documents.ts";
import { eventsReplyText, inFlightError, writeEvents } from "../routes/events.ts";
import { appendBody, appendReplyText } from "../routes/records.ts";
import { compileSchema } from "../validation.ts";
import { type Answer, bodyFault, type HotRoute, type HotWork, namePattern } from "./route.ts";

const recordsUrl = "/v1/namespaces/:ns/streams/:stream/partitions/:partition/records";
const recordsPath = /^(\/.+\/)(0|[1-9]\d{0,4})(\/records)$/;
/** What stands before the number of a partition. */
const partitionsPath = new RegExp(`^/v1/namespaces/${namePattern}/streams/${namePattern}/partitions/$`);
/** As many digits as the path has at most. */
const partitionMax = 99_999;
const documentsPath = new RegExp(`^/v1/namespaces/${namePattern}/collections/${namePattern}/documents$`);
const eventsPath = new RegExp(`^/v1/namespaces/${namePattern}/streams/${namePattern}/events$`);

/** Paths whose parts are remembered. */
const placesKeptMax = 20_000;

/** The parts of a text, taken apart once. */
function remembered<T>(parse: (target: string) => T | undefined): (target: string) => T | undefined {
  const places = new Map<string, T>();
  return (target) => {
    const known = places.get(target);
    if (known !== undefined) return known;
    const place = parse(target);
    if (place === undefined) return undefined;
    if (places.size >= placesKeptMax) places.clear();
    places.set(target, place);
    return place;
  };
}

function streamBefore(partitions: string): KeptStream | undefined {
  const match = partitionsPath.exec(partitions);
  return match === null ? undefined : new KeptStream(match[1]!, match[2]!);
}

/** Appends of records to a partition. */
export function appendRoute({ streams }: Engine): HotRoute {
  const validate = compileSchema({ schema: appendBody, httpPart: "body", method: "POST", url: recordsUrl });
  const buffers = new BatchBuffers();
  const allocate = (bytes: number) => buffers.take(bytes);
  const append = async (command: AppendCommand, borrowed?: Buffer): Promise<Answer> => {
    try {
      const { reply } = await streams.append(command);
      const tokenText = formatToken(reply.token);
      return { headers: tokenHeaders(tokenText), body: appendReplyText(reply, tokenText) };
    } finally {
      if (borrowed !== undefined) buffers.give(borrowed);
    }
  };
  const workOn = (kept: KeptStream, partition: number): HotWork => ({
    namespace: kept.namespace,
    run: (_asked, body) => {
      const { namespace, stream } = kept;
      const plain = recordCodec().decode(body, Date.now(), allocate);
      if (plain !== undefined) {
        release(body);
        return append({ namespace, stream, kept, partition, records: plain }, plain.bytes);
      }
      const parsed = body.length === 0 ? undefined : parseJson(body);
      const checked = validate(parsed);
      if (checked !== true) throw bodyFault(checked);
      const { records, match_offset } = parsed as { records: RecordJson[]; match_offset?: number | null };
      const encoded = encodeRecords(records, Date.now()) ?? parseRecords(records);
      const matched = match_offset == null ? {} : { matchOffset: match_offset };
      return append({ namespace, stream, kept, partition, records: encoded, ...matched });
    },
  });
  const matchNumbered: HotRoute["matchNumbered"] = ({ start, number, end }, headers) => {
    if (headers["idempotency-key"] !== undefined || headers["content-type"] !== "application/json") return undefined;
    if (end !== "/records" || number > partitionMax) return undefined;
    if (!(start.known instanceof KeptStream)) start.known = streamBefore(start.text);
    return start.known instanceof KeptStream ? workOn(start.known, number) : undefined;
  };
  return {
    method: "POST",
    url: recordsUrl,
    access: "write",
    isShort: true,
    match: (target, headers) => {
      const match = recordsPath.exec(target);
      if (match === null) return undefined;
      return matchNumbered({ start: new TargetStart(match[1]!), number: Number(match[2]), end: match[3]! }, headers);
    },
    matchNumbered,
  };
}

/** Small batches of documents. */
export function documentsRoute({ documents }: Engine): HotRoute {
  const url = "/v1/namespaces/:ns/collections/:c/documents";
  const validate = compileSchema({ schema: writeBody, httpPart: "body", method: "POST", url });
  const placeOf = remembered<DocumentRef>((target) => {
    const match = documentsPath.exec(target);
    return match === null ? undefined : { namespace: match[1]!, collection: match[2]! };
  });
  return {
    method: "POST",
    url,
    access: "write",
    isShort: true,
    match: (target, headers) => {
      const { "content-type": type, "content-length": length = "0", "idempotency-key": key } = headers;
      if (key !== undefined || type !== "application/json" || length === "0") return undefined;
      const place = placeOf(target);
      if (place === undefined) return undefined;
      return {
        namespace: place.namespace,
        run: async (_asked, body) => {
          const given = parseJson(body);
          const checked = validate(given);
          if (checked !== true) throw bodyFault(checked);
          const asked = given as WriteBody;
          const ops = await parseOps(asked.ops, documents.find(place).schema);
          const done = await documents.write(place, ops, body.length, bodyIdempotency("POST", target, asked));
          const tokenText = formatToken(done.token);
          const headers = tokenHeaders(tokenText);
          return {
            headers: done.replayed ? [...headers, ...replayedHeader] : headers,
            body: writeReplyText(done, tokenText),
          };
        },
      };
    },
  };
}

/** CloudEvents in each of their modes. */
export function eventsRoute({ events }: Engine): HotRoute {
  const buffers = new BatchBuffers();
  const placeOf = remembered<StreamRef>((target) => {
    const match = eventsPath.exec(target);
    return match === null ? undefined : { namespace: match[1]!, stream: match[2]! };
  });
  const memory = { take: (bytes: number) => buffers.take(bytes), give: (bytes: Buffer) => buffers.give(bytes) };
  return {
    method: "POST",
    url: "/v1/namespaces/:ns/streams/:stream/events",
    access: "write",
    isShort: true,
    match: (target, headers) => {
      if (headers["idempotency-key"] !== undefined) return undefined;
      const place = placeOf(target);
      if (place === undefined) return undefined;
      return {
        namespace: place.namespace,
        run: async ({ headers: given, rawHeaders }, body) => {
          const contentType = given["content-type"] as string | undefined;
          const done = await writeEvents(events, place, { headers: rawHeaders, contentType, body }, memory);
          if (done.inFlight) throw inFlightError(done);
          const tokenText = formatToken(done.token);
          return { headers: tokenHeaders(tokenText), body: eventsReplyText(done, tokenText) };
        },
      };
    },
  };
}
