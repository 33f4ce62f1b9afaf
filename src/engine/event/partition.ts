import { partitionOfKey } from "../murmur2.ts";
import { type CloudEvent, extensionOf } from "./cloud-event.ts";

/**
 * The bytes whose hash chooses an event's partition when the request names none: `partitionkey`, else `subject`,
 * else `source` and `id` joined, so that a repeated event always meets its first write in the same partition.
 */
export function partitionKeyBytes(event: CloudEvent): Uint8Array {
  const key = extensionOf(event, "partitionkey");
  if (key !== undefined) return Buffer.from(String(key));
  return Buffer.from(event.subject ?? event.source + event.id);
}

/** The partition of an event among `partitions`, as Kafka's default partitioner would choose it for those bytes. */
export function partitionOfEvent(event: CloudEvent, partitions: number): number {
  return partitions === 1 ? 0 : partitionOfKey(partitionKeyBytes(event), partitions);
}
