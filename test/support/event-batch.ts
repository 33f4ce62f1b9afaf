import type { CloudEvent } from "../../src/engine/event/cloud-event.ts";
import { formatEventJson } from "../../src/engine/event/json-format.ts";

/** A body of media type `application/cloudevents-batch+json`. */
export function formatBatch(events: readonly CloudEvent[]): Buffer {
  return Buffer.from(`[${events.map(formatEventJson).join(",")}]`);
}
