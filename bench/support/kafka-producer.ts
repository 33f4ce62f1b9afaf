// A bare producer in a process of its own: what the same log takes without a server before it.
import { type MessageToProduce, Producer } from "@platformatic/kafka";
import type { LoadResult } from "./load-plan.ts";

export interface ProducerPlan {
  readonly brokers: readonly string[];
  readonly topic: string;
  readonly recordBytes: number;
  /** Records of one request. */
  readonly records: number;
  /** Requests at once. */
  readonly inFlight: number;
  readonly warmUpMs: number;
  readonly durationMs: number;
}

async function produce(plan: ProducerPlan): Promise<LoadResult> {
  const { brokers, topic, recordBytes, records, inFlight, warmUpMs, durationMs } = plan;
  const producer = new Producer<Buffer, Buffer, Buffer, Buffer>({ clientId: "bench", bootstrapBrokers: [...brokers] });
  const value = Buffer.alloc(recordBytes, "v");
  const messages: MessageToProduce<Buffer, Buffer, Buffer, Buffer>[] = Array.from({ length: records }, () => ({
    topic,
    partition: 0,
    value,
  }));
  const startMs = performance.now() + warmUpMs;
  const endMs = startMs + durationMs;
  const times: number[] = [];
  const one = async () => {
    for (;;) {
      const beganMs = performance.now();
      await producer.send({ messages, acks: -1 });
      const nowMs = performance.now();
      if (nowMs >= endMs) return;
      if (nowMs >= startMs) times.push(nowMs - beganMs);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, one));
  await producer.close();
  times.sort((a, b) => a - b);
  const quantile = (q: number) => times[Math.min(times.length - 1, Math.floor(times.length * q))] ?? 0;
  return {
    requests: times.length,
    perSecond: (times.length * 1000) / durationMs,
    p50Ms: quantile(0.5),
    p99Ms: quantile(0.99),
    bytes: 0,
  };
}

process.once("message", async (plan: ProducerPlan) => {
  process.send!(await produce(plan), () => process.exit(0));
});
