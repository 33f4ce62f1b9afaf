import { type EncodedBatch, encodeBatchInSteps, type RecordInput } from "../log/record-batch.ts";
import { partitionOfKey } from "../murmur2.ts";
import type { Steps } from "../turns.ts";

export interface RoutedBatch {
  readonly partition: number;
  readonly batch: EncodedBatch;
}

const recordsPerStep = 128;

/** A batch for each partition, by the records' keys, in partition order; records without a key go to `keyless`. */
export function* routedBatches(
  records: readonly RecordInput[],
  partitions: number,
  keyless: () => number,
  nowMs: number,
): Steps<RoutedBatch[]> {
  const routed = new Map<number, RecordInput[]>();
  let shared: number | undefined;
  for (const [i, record] of records.entries()) {
    if (i % recordsPerStep === recordsPerStep - 1) yield;
    let partition: number;
    if (record.key !== undefined) partition = partitionOfKey(record.key, partitions);
    else {
      shared ??= keyless();
      partition = shared;
    }
    const list = routed.get(partition);
    if (list === undefined) routed.set(partition, [record]);
    else list.push(record);
  }
  const batches: RoutedBatch[] = [];
  for (const [partition, list] of [...routed].sort(([a], [b]) => a - b)) {
    batches.push({ partition, batch: yield* encodeBatchInSteps(list, nowMs) });
    yield;
  }
  return batches;
}
