import { setTimeout as sleep } from "node:timers/promises";
import { findErrorBy } from "@platformatic/kafka";
import { asBuffer } from "../../port/bytes.ts";
import type { SharedLog, SharedRecord, SharedRecords } from "../../port/shared-log.ts";
import { type Bytes, StoreError } from "../../port/store.ts";
import { fetchMsMax, type KafkaAddress, KafkaClients, requestMs, within } from "./clients.ts";
import { describeTopic, type TopicDescription } from "./topic.ts";

const partition = 0;
/** A record in its batch takes so much besides its bytes. */
const batchBytes = 1_024;
/** Larger commits go in parts of this size: a broker holds and copies a whole one. */
const recordBytesMax = 8 * 1024 * 1024;
/** What one fetch brings, if one record is not larger. */
const fetchBytes = 4 * 1024 * 1024;
const lookAttempts = 10;
const lookMs = 200;
/** A leader may have changed: for so long it is asked again where the log begins and ends. Nobody's lease waits for that. */
const boundsAttempts = 50;
const earliest = -2n;
const latest = -1n;

/** One partition of Kafka as a shared log. It is acknowledged by all replicas that are in sync. */
export class KafkaSharedLog implements SharedLog {
  readonly id: string;
  readonly recordBytesMax: number;
  readonly #topic: string;
  readonly #topicId: string;
  readonly #clients: KafkaClients;
  #isClosed = false;

  private constructor(address: KafkaAddress, clients: KafkaClients, description: TopicDescription) {
    this.id = `kafka ${description.id}`;
    this.recordBytesMax = Math.min(recordBytesMax, description.messageBytesMax - batchBytes);
    this.#topic = address.topic;
    this.#topicId = description.id;
    this.#clients = clients;
  }

  /** Throws a StoreError where there is no such topic, or it may lose what it acknowledged and `allowsLoss` is not given. */
  static async open(address: KafkaAddress, { allowsLoss = false } = {}): Promise<KafkaSharedLog> {
    const clients = new KafkaClients(address);
    try {
      const description = await foundTopic(clients, address.topic);
      if (description === undefined) {
        throw new StoreError("failed", `there is no topic ${address.topic}: native-engine cluster init makes it`);
      }
      const weakness = weaknessOf(description);
      if (weakness !== undefined && !allowsLoss) {
        throw new StoreError("failed", `topic ${address.topic} ${weakness}; ?replication=any takes it all the same`);
      }
      return new KafkaSharedLog(address, clients, description);
    } catch (error) {
      await clients.close();
      throw error;
    }
  }

  async append(bytes: Bytes): Promise<number> {
    const message = { topic: this.#topic, partition, value: asBuffer(bytes) };
    try {
      const { offsets } = await within(requestMs, "append", () =>
        this.#clients.producer.send({ messages: [message], acks: -1, repeatOnStaleMetadata: false }),
      );
      const offset = offsets?.[0]?.offset;
      if (offset === undefined || offset < 0n) throw new Error("Kafka did not tell the offset");
      return Number(offset);
    } catch (error) {
      this.#clients.renewProducer();
      throw error;
    }
  }

  async read(from: number, waitMs: number): Promise<SharedRecords> {
    const maxWaitTime = Math.max(1, Math.min(Math.round(waitMs), fetchMsMax));
    try {
      return await within(requestMs + maxWaitTime, "read", () => this.#fetch(from, maxWaitTime));
    } catch (error) {
      this.#clients.renewConsumer();
      if (findErrorBy(error as Error, "apiId", "OFFSET_OUT_OF_RANGE") !== null) await this.#checkReach(from);
      throw error;
    }
  }

  /** Throws where the log no longer has an offset. */
  async #checkReach(from: number): Promise<void> {
    const { start, end } = await this.bounds();
    if (from >= start && from <= end) return;
    const what =
      from < start
        ? `was trimmed to ${start}, beyond ${from}`
        : `ends at ${end}, before ${from}: it has lost what it had acknowledged`;
    throw new StoreError("damaged", `the shared log ${what}; this node can't follow it any more`);
  }

  async #fetch(from: number, maxWaitTime: number): Promise<SharedRecords> {
    const { consumer } = this.#clients;
    const metadata = await consumer.metadata({ topics: [this.#topic] });
    const node = metadata.topics.get(this.#topic)?.partitions[partition]?.leader;
    if (node === undefined || node < 0) throw new Error("the partition has no leader");
    const wanted = {
      partition,
      currentLeaderEpoch: -1,
      fetchOffset: BigInt(from),
      lastFetchedEpoch: -1,
      partitionMaxBytes: fetchBytes,
    };
    const { responses } = await consumer.fetch({
      node,
      topics: [{ topicId: this.#topicId, partitions: [wanted] }],
      maxWaitTime,
      minBytes: 1,
      maxBytes: fetchBytes,
      isolationLevel: 0,
    });
    const found = responses[0]?.partitions[0];
    // A session of fetches leaves out a partition that has nothing new.
    if (found === undefined) return { records: [], next: from, end: from };
    const records: SharedRecord[] = [];
    let next = from;
    for (const { firstOffset, lastOffsetDelta, records: batch } of found.records ?? []) {
      for (const { offsetDelta, value } of batch) {
        const offset = Number(firstOffset) + offsetDelta;
        if (offset >= from && value !== null) records.push({ offset, bytes: value });
      }
      next = Math.max(next, Number(firstOffset) + lastOffsetDelta + 1);
    }
    return { records, next, end: Number(found.highWatermark) };
  }

  async bounds(): Promise<{ start: number; end: number }> {
    for (let attempt = 1; ; attempt++) {
      try {
        const [start, end] = [await this.#offsetAt(earliest), await this.#offsetAt(latest)];
        return { start, end };
      } catch (error) {
        this.#clients.renewConsumer();
        if (attempt === boundsAttempts || this.#isClosed) throw error;
      }
      await sleep(lookMs);
    }
  }

  async #offsetAt(timestamp: bigint): Promise<number> {
    const topics = [this.#topic];
    const found = await within(2 * requestMs, "offsets", () =>
      this.#clients.consumer.listOffsets({ topics, partitions: { [this.#topic]: [partition] }, timestamp }),
    );
    const offset = found.get(this.#topic)?.[partition];
    if (offset === undefined) throw new Error("Kafka did not tell where the log begins and ends");
    return Number(offset);
  }

  async trim(before: number): Promise<void> {
    const partitions = [{ partition, offset: BigInt(before) }];
    try {
      await within(2 * requestMs, "trim", () =>
        this.#clients.admin.deleteRecords({ topics: [{ name: this.#topic, partitions }] }),
      );
    } catch (error) {
      this.#clients.renewAdmin();
      throw error;
    }
  }

  close(): Promise<void> {
    this.#isClosed = true;
    return this.#clients.close();
  }
}

/** A broker hears of a new topic a moment after the one that made it. */
async function foundTopic(clients: KafkaClients, topic: string): Promise<TopicDescription | undefined> {
  for (let attempt = 1; attempt < lookAttempts; attempt++) {
    const found = await describeTopic(clients, topic);
    if (found !== undefined) return found;
    await sleep(lookMs);
  }
  return await describeTopic(clients, topic);
}

/** How the topic could lose what it has acknowledged; undefined where it can't. */
function weaknessOf({ replicas, inSyncMin, isUnclean, isKept }: TopicDescription): string | undefined {
  if (replicas < 3) return `has ${replicas} replicas, where 3 are needed`;
  if (inSyncMin < 2) return `has min.insync.replicas=${inSyncMin}, where 2 is needed`;
  if (isUnclean) return "has unclean.leader.election.enable=true";
  if (!isKept) return "deletes by itself: it needs cleanup.policy=delete, retention.ms=-1 and retention.bytes=-1";
  return undefined;
}
