import type { Engine } from "../../../engine/engine.ts";
import { OutcomeUnknown } from "../../../engine/errors.ts";
import { limits } from "../../../engine/limits.ts";
import type { AppendCommand, PartitionRef } from "../../../engine/stream/streams.ts";
import { formatToken } from "../../../engine/token.ts";
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
import { parseRecords, type RecordJson } from "./json.ts";
import { PageCache } from "./page-cache.ts";
import { appendBody, appendReplyText } from "./routes.ts";

const recordsUrl = "/v1/namespaces/:ns/streams/:stream/partitions/:partition/records";
const recordsPattern = `^/v1/namespaces/${namePattern}/streams/${namePattern}/partitions/(0|[1-9]\\d{0,4})/records`;
const appendPath = new RegExp(`${recordsPattern}$`);
const fetchPath = new RegExp(
  `${recordsPattern}\\?offset=(0|[1-9]\\d{0,14})(?:&max_bytes=([1-9]\\d{0,6}))?(?:&${consistencyPattern})?$`,
);

function placeOf(match: RegExpExecArray): PartitionRef {
  return { namespace: match[1]!, stream: match[2]!, partition: Number(match[3]) };
}

/** Appends of records to a partition. */
export function appendRoute({ streams }: Engine): FastRoute {
  const validate = compileSchema({ schema: appendBody, httpPart: "body", method: "POST", url: recordsUrl });
  const buffers = new BatchBuffers();
  const allocate = (bytes: number) => buffers.take(bytes);
  const append = async (command: AppendCommand, lent?: Buffer): Promise<Answer> => {
    let borrowed = lent;
    try {
      const { reply } = await streams.append(command);
      const tokenText = formatToken(reply.token);
      return { headers: tokenHeaders(tokenText), body: appendReplyText(reply, tokenText) };
    } catch (error) {
      if (error instanceof OutcomeUnknown) borrowed = undefined;
      throw error;
    } finally {
      if (borrowed !== undefined) buffers.give(borrowed);
    }
  };
  const workOn = (place: PartitionRef): FastWork => ({
    namespace: place.namespace,
    run: (_asked, body) => {
      const plain = recordCodec().decode(body, Date.now(), allocate);
      if (plain !== undefined) {
        release(body);
        return append({ ...place, records: plain }, plain.bytes);
      }
      const parsed = body.length === 0 ? undefined : parseJson(body);
      const checked = validate(parsed);
      if (checked !== true) throw bodyFault(checked);
      const { records, match_offset } = parsed as { records: RecordJson[]; match_offset?: number | null };
      const matched = match_offset == null ? {} : { matchOffset: match_offset };
      return append({ ...place, records: parseRecords(records), ...matched });
    },
  });
  return {
    method: "POST",
    url: recordsUrl,
    access: "write",
    isShort: true,
    match: (target, headers) => {
      if (headers["idempotency-key"] !== undefined || headers["content-type"] !== "application/json") return undefined;
      const match = appendPath.exec(target);
      return match === null ? undefined : workOn(placeOf(match));
    },
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
      const place = placeOf(match);
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
