import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createTopic } from "../../src/adapter/kafka/topic.ts";
import type { KafkaCluster } from "./kafka.ts";
import { ServerProcess, temporaryFolder } from "./process.ts";

export interface Readiness {
  readonly node: string;
  readonly role: string;
  readonly owner: string | null;
  readonly epoch: number;
  readonly position: number;
  readonly snapshot_position: number;
  readonly problem: string | null;
}

export interface NodeClusterOptions {
  readonly count?: number;
  readonly env?: Readonly<Record<string, string>>;
  /** A checkout of another build, which the nodes begin with. */
  readonly build?: string | undefined;
  /** Where nodes keep their data that do not keep it with the others. */
  readonly folders?: readonly string[];
}

/** Real nodes on real brokers. */
export class NodeCluster implements AsyncDisposable {
  readonly nodes: (ServerProcess | undefined)[] = [];
  readonly #folder: string;
  readonly #folders: readonly string[];
  readonly #address: string;
  readonly #env: Readonly<Record<string, string>>;
  readonly #ports: string[] = [];

  private constructor(
    folder: string,
    address: string,
    env: Readonly<Record<string, string>>,
    folders: readonly string[],
  ) {
    this.#folders = folders;
    this.#folder = folder;
    this.#address = address;
    this.#env = env;
  }

  /** Objects are in a folder, unless the settings say otherwise. */
  static async start(
    kafka: KafkaCluster,
    prefix: string,
    { count = 3, env = {}, build, folders = [] }: NodeClusterOptions = {},
  ): Promise<NodeCluster> {
    const folder = await temporaryFolder();
    await mkdir(join(folder, "objects"));
    await createTopic({ brokers: kafka.brokers, topic: `${prefix}.0` }, { replicas: 3, flush: false });
    const cluster = new NodeCluster(folder, `kafka://${kafka.brokers.join(",")}/${prefix}`, env, folders);
    for (let i = 0; i < count; i++) await cluster.launch(i, build);
    return cluster;
  }

  /** On the port that it had before, if it had one. */
  async launch(i: number, build?: string): Promise<void> {
    const node = await ServerProcess.start({
      ...(build !== undefined && { build }),
      dataDir: this.folderOf(i),
      ...(this.#ports[i] !== undefined && { listen: this.#ports[i] }),
      env: {
        SERVICE_CLUSTER_LOG: this.#address,
        SERVICE_CLUSTER_OBJECTS: `file://${this.objectsFolder}`,
        SERVICE_NODE_ID: `n${i}`,
        // Often, so that objects are written while owners change.
        SERVICE_COLLECTION_SEAL_RECORDS: "50",
        SERVICE_COLLECTION_SEAL_IDLE: "500ms",
        ...this.#env,
      },
    });
    this.nodes[i] = node;
    this.#ports[i] = new URL(node.url).host;
  }

  urlOf(i: number): string {
    return `http://${this.#ports[i]}`;
  }

  async readiness(i: number): Promise<Readiness | undefined> {
    try {
      const response = await fetch(`${this.urlOf(i)}/ready`, { signal: AbortSignal.timeout(1_000) });
      return (await response.json()) as Readiness;
    } catch {
      return undefined;
    }
  }

  /** The node that answers as the owner, once there is one. */
  async owner(except?: number): Promise<number> {
    for (;;) {
      for (const i of this.nodes.keys()) {
        if (i === except || this.nodes[i] === undefined) continue;
        const ready = await this.readiness(i);
        if (ready?.role === "owner" && "status" in ready) return i;
      }
      await sleep(50);
    }
  }

  get objectsFolder(): string {
    return join(this.#folder, "objects");
  }

  /** Makes a node the owner. */
  async move(i: number): Promise<void> {
    while ((await this.owner()) !== i) {
      await fetch(`${this.urlOf(i)}/v1/cluster/move`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ to: `n${i}` }),
      }).catch(() => undefined);
      await sleep(500);
    }
  }

  /** Keeps a node from being the owner, or lets it again. */
  async drain(i: number, drained: boolean): Promise<void> {
    for (let status = 0; status !== 200; ) {
      const response = await fetch(`${this.urlOf(i)}/v1/cluster/drain`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ node: `n${i}`, drained }),
      }).catch(() => undefined);
      status = response?.status ?? 0;
      if (status !== 200) await sleep(200);
    }
  }

  /** Where a node keeps its data. */
  folderOf(i: number): string {
    return this.#folders[i] ?? join(this.#folder, `node-${i}`);
  }

  async kill(i: number): Promise<void> {
    await this.nodes[i]?.kill();
    this.nodes[i] = undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const node of this.nodes) {
      node?.child.kill("SIGCONT");
      await node?.kill();
    }
    await rm(this.#folder, { recursive: true, force: true });
  }
}
