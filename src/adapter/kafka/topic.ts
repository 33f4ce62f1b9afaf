import { ConfigResourceTypes } from "@platformatic/kafka";
import { adminMs, type KafkaAddress, KafkaClients, within } from "./clients.ts";

export interface TopicDescription {
  readonly id: string;
  readonly replicas: number;
  readonly inSyncMin: number;
  readonly messageBytesMax: number;
  readonly isUnclean: boolean;
  /** Nothing is deleted unless we say so. */
  readonly isKept: boolean;
}

const messageBytesMax = 32 * 1024 * 1024;

/** Undefined where there is none. */
export async function describeTopic(clients: KafkaClients, topic: string): Promise<TopicDescription | undefined> {
  const names = await withFault(clients, "topics", () => clients.admin.listTopics());
  if (!names.includes(topic)) return undefined;
  const metadata = await withFault(clients, "metadata", () => clients.admin.metadata({ topics: [topic] }));
  const found = metadata.topics.get(topic);
  const resource = { resourceType: ConfigResourceTypes.TOPIC, resourceName: topic, configurationKeys: null };
  const [described] = await withFault(clients, "configs", () =>
    clients.admin.describeConfigs({ resources: [resource] }),
  );
  const values = new Map(described?.configs.map(({ name, value }) => [name, value ?? ""]));
  if (found === undefined) return undefined;
  const isForever = ["retention.ms", "retention.bytes"].every((name) => values.get(name) === "-1");
  return {
    id: found.id,
    replicas: found.partitions[0]?.replicas.length ?? 0,
    inSyncMin: Number(values.get("min.insync.replicas") ?? 1),
    messageBytesMax: Number(values.get("max.message.bytes") ?? 1_000_000),
    isUnclean: values.get("unclean.leader.election.enable") === "true",
    isKept: isForever && values.get("cleanup.policy") === "delete",
  };
}

export interface TopicWishes {
  readonly replicas: number;
  /** Sync every message to the disks of the brokers before it is acknowledged. */
  readonly flush: boolean;
}

/** False where it was there before. */
export async function createTopic(address: KafkaAddress, { replicas, flush }: TopicWishes): Promise<boolean> {
  const clients = new KafkaClients(address);
  try {
    if ((await describeTopic(clients, address.topic)) !== undefined) return false;
    const settings: Record<string, string> = {
      "min.insync.replicas": String(Math.min(2, replicas)),
      "unclean.leader.election.enable": "false",
      "cleanup.policy": "delete",
      "retention.ms": "-1",
      "retention.bytes": "-1",
      "max.message.bytes": String(messageBytesMax),
      ...(flush && { "flush.messages": "1" }),
    };
    const configs = Object.entries(settings).map(([name, value]) => ({ name, value }));
    try {
      await withFault(clients, "create", () =>
        clients.admin.createTopics({ topics: [address.topic], partitions: 1, replicas, configs }),
      );
    } catch (error) {
      // An earlier attempt may have made it and lost its answer.
      if ((await describeTopic(clients, address.topic)) === undefined) throw error;
    }
    return true;
  } finally {
    await clients.close();
  }
}

/** Asks each broker once before it gives up. */
async function withFault<T>(clients: KafkaClients, what: string, run: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await within(adminMs, what, run);
    } catch (error) {
      clients.renewAdmin();
      if (attempt === 3) throw new Error([...new Set(reasonsOf(error))].join("; "), { cause: error });
    }
  }
}

/** The library says why in errors below the one that it throws. */
function reasonsOf(error: unknown): string[] {
  const { errors = [], cause, message } = error as { errors?: unknown[]; cause?: unknown; message: string };
  const below = [...errors, ...(cause === undefined ? [] : [cause])].flatMap(reasonsOf);
  return below.length > 0 ? below : [message];
}
