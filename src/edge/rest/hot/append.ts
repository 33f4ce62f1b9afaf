import type { Engine } from "../../../engine/engine.ts";
import type { AppendCommand, StreamRef } from "../../../engine/stream/streams.ts";
import { formatToken } from "../../../engine/token.ts";
import { BatchBuffers } from "../batch-buffers.ts";
import { parseJson } from "../body.ts";
import { recordCodec } from "../record-codec.ts";
import { encodeRecords, parseRecords, type RecordJson } from "../record-json.ts";
import { release } from "../release.ts";
import { tokenHeaders } from "../route.ts";
import { eventsReplyText, inFlightError, writeEvents } from "../routes/events.ts";
import { appendBody, appendReplyText } from "../routes/records.ts";
import { compileSchema } from "../validation.ts";
import { type Answer, bodyFault, type HotRoute, namePattern } from "./route.ts";

const recordsUrl = "/v1/namespaces/:ns/streams/:stream/partitions/:partition/records";
const recordsPath = new RegExp(
  `^/v1/namespaces/${namePattern}/streams/${namePattern}/partitions/(0|[1-9]\\d{0,4})/records$`,
);
const eventsPath = new RegExp(`^/v1/namespaces/${namePattern}/streams/${namePattern}/events$`);

type Place = Pick<AppendCommand, "namespace" | "stream" | "partition">;

/** Paths, or names, whose parts are remembered. */
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
  const refOf = remembered<StreamRef>((names) => {
    const [namespace, stream] = names.split(" ");
    return { namespace: namespace!, stream: stream! };
  });
  const placeOf = remembered<Place>((target) => {
    const match = recordsPath.exec(target);
    if (match === null) return undefined;
    // Of all partitions of a stream, so that whoever looks it up has seen the very same text before.
    const { namespace, stream } = refOf(`${match[1]} ${match[2]}`)!;
    return { namespace, stream, partition: Number(match[3]) };
  });
  return {
    method: "POST",
    url: recordsUrl,
    access: "write",
    isShort: true,
    match: (target, headers) => {
      if (headers["idempotency-key"] !== undefined || headers["content-type"] !== "application/json") return undefined;
      const place = placeOf(target);
      if (place === undefined) return undefined;
      return {
        namespace: place.namespace,
        run: (_asked, body) => {
          const plain = recordCodec().decode(body, Date.now(), allocate);
          if (plain !== undefined) {
            release(body);
            const { namespace, stream, partition } = place;
            return append({ namespace, stream, partition, records: plain }, plain.bytes);
          }
          const parsed = body.length === 0 ? undefined : parseJson(body);
          if (validate(parsed) !== true) throw bodyFault(validate);
          const { records, match_offset } = parsed as { records: RecordJson[]; match_offset?: number | null };
          const encoded = encodeRecords(records, Date.now()) ?? parseRecords(records);
          return append({
            ...place,
            records: encoded,
            ...(match_offset == null ? {} : { matchOffset: match_offset }),
          });
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
