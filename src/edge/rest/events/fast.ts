import type { Engine } from "../../../engine/engine.ts";
import { OutcomeUnknown } from "../../../engine/errors.ts";
import type { StreamRef } from "../../../engine/stream/streams.ts";
import { formatToken } from "../../../engine/token.ts";
import { type FastRoute, namePattern, remembered } from "../fast-route.ts";
import { BatchBuffers } from "../http/memory.ts";
import { tokenHeaders } from "../route.ts";
import { eventsReplyText, inFlightError, writeEvents } from "./routes.ts";

const eventsPath = new RegExp(`^/v1/namespaces/${namePattern}/streams/${namePattern}/events$`);

/** CloudEvents in each of their modes. */
export function eventsRoute({ events }: Engine): FastRoute {
  const buffers = new BatchBuffers();
  const placeOf = remembered<StreamRef>((target) => {
    const match = eventsPath.exec(target);
    return match === null ? undefined : { namespace: match[1]!, stream: match[2]! };
  });
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
        run: async ({ headers: sent, rawHeaders }, body) => {
          const contentType = sent["content-type"] as string | undefined;
          let lent: Buffer | undefined;
          const allocate = (bytes: number) => {
            lent = buffers.take(bytes);
            return lent;
          };
          try {
            const done = await writeEvents(events, place, { headers: rawHeaders, contentType, body }, allocate);
            if (done.inFlight) throw inFlightError(done);
            const tokenText = formatToken(done.token);
            return { headers: tokenHeaders(tokenText), body: eventsReplyText(done, tokenText) };
          } catch (error) {
            if (error instanceof OutcomeUnknown) lent = undefined;
            throw error;
          } finally {
            if (lent !== undefined) buffers.give(lent);
          }
        },
      };
    },
  };
}
