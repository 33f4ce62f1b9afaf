import type { Engine } from "../../../engine/engine.ts";
import { limits } from "../../../engine/limits.ts";
import { KeptStream } from "../../../engine/metastore/metastore.ts";
import type { AppendCommand } from "../../../engine/stream/streams.ts";
import { formatToken } from "../../../engine/token.ts";
import { TargetStart } from "../../../listener/numbered-target.ts";
import {
  type Answer,
  bodyFault,
  consistencyPattern,
  type FastRoute,
  type FastWork,
  isPlain,
  namePattern,
} from "../fast-route.ts";
import { parseJson } from "../http/body.ts";
import { BatchBuffers, PageBuffers, release } from "../http/memory.ts";
import { compileSchema } from "../http/validation.ts";
import { tokenHeaders } from "../route.ts";
import { cachedPage } from "./cached-page.ts";
import { recordCodec } from "./codec.ts";
import { encodeRecords, parseRecords, type RecordJson } from "./json.ts";
import { PageCache } from "./page-cache.ts";
import { appendBody, appendReplyText } from "./routes.ts";

const recordsUrl = "/v1/namespaces/:ns/streams/:stream/partitions/:partition/records";
const recordsPath = /^(\/.+\/)(0|[1-9]\d{0,4})(\/records)$/;
/** What stands before the number of a partition. */
const partitionsPath = new RegExp(`^/v1/namespaces/${namePattern}/streams/${namePattern}/partitions/$`);
/** As many digits as the path has at most. */
const partitionMax = 99_999;
const fetchPath = new RegExp(
  `^/v1/namespaces/${namePattern}/streams/${namePattern}/partitions/(0|[1-9]\\d{0,4})/records` +
    "\\?offset=(0|[1-9]\\d{0,14})(?:&max_bytes=([1-9]\\d{0,6}))?" +
    `(?:&${consistencyPattern})?$`,
);

function streamBefore(partitions: string): KeptStream | undefined {
  const match = partitionsPath.exec(partitions);
  return match === null ? undefined : new KeptStream(match[1]!, match[2]!);
}

/** Appends of records to a partition. */
export function appendRoute({ streams }: Engine): FastRoute {
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
  const workOn = (kept: KeptStream, partition: number): FastWork => ({
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
  const matchNumbered: FastRoute["matchNumbered"] = ({ start, number, end }, headers) => {
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

/** Fetches that do not wait. */
export function fetchRoute({ streams }: Engine): FastRoute {
  const buffers = new PageBuffers();
  const cache = new PageCache();
  return {
    method: "GET",
    url: "/v1/namespaces/:ns/streams/:stream/partitions/:partition/records",
    access: "read",
    isShort: true,
    match: (target, headers) => {
      const match = isPlain(headers) ? fetchPath.exec(target) : null;
      if (match === null) return undefined;
      const bytesMax = match[5] === undefined ? limits.fetchBytesDefault : Number(match[5]);
      // A longer page is sent in pieces, as fast as its client reads.
      if (bytesMax > limits.fetchBytesDefault) return undefined;
      const place = { namespace: match[1]!, stream: match[2]!, partition: Number(match[3]) };
      return {
        namespace: place.namespace,
        run: async () => {
          const from = { offset: Number(match[4]) };
          const result = await streams.fetch({ ...place, from, waitMs: 0, token: [] });
          const buffer = buffers.take();
          const body = cachedPage(result, bytesMax, buffer, cache);
          return { headers: [], body, onSent: () => buffers.give(buffer) };
        },
      };
    },
  };
}
