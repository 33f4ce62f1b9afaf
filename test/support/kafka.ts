import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, openSync, readdirSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { Admin } from "@platformatic/kafka";
import { temporaryFolder } from "./process.ts";

const run = promisify(execFile);
const toolsFolder = join(import.meta.dirname, "../../node_modules/.cache/cluster/kafka");
const libraries = join(toolsFolder, "libs");
const dependencies = [
  ["org.apache.kafka", "kafka_2.13", "4.3.1"],
  ["org.apache.logging.log4j", "log4j-slf4j-impl", "2.25.4"],
] as const;
const javaArgs = ["-Xmx160m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", join(libraries, "*")];
const startMsMax = 120_000;

/** Clients come over TLS and sign in. */
export interface SecureKafka {
  readonly cert: string;
  readonly key: string;
  readonly username: string;
  readonly password: string;
}

export async function hasJava(): Promise<boolean> {
  try {
    await run("java", ["-version"]);
    await run("mvn", ["--version"]);
    return true;
  } catch {
    return false;
  }
}

/** Brings Kafka from Maven's registry, once. */
export async function installKafka(): Promise<void> {
  if (existsSync(libraries) && readdirSync(libraries).some((name) => name.startsWith("kafka_"))) return;
  mkdirSync(toolsFolder, { recursive: true });
  const list = dependencies
    .map(([group, name, version]) => {
      const text = `<groupId>${group}</groupId><artifactId>${name}</artifactId><version>${version}</version>`;
      return `<dependency>${text}</dependency>`;
    })
    .join("");
  writeFileSync(
    join(toolsFolder, "pom.xml"),
    `<project><modelVersion>4.0.0</modelVersion><groupId>local</groupId><artifactId>kafka</artifactId><version>1</version><dependencies>${list}</dependencies></project>`,
  );
  const args = ["-q", "-B", "dependency:copy-dependencies", `-DoutputDirectory=${libraries}`];
  await run("mvn", args, { cwd: toolsFolder, maxBuffer: 16 * 1024 * 1024 });
}

export async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer().listen(0, "127.0.0.1");
      await once(server, "listening");
      return server;
    }),
  );
  const ports = servers.map((server) => (server.address() as { port: number }).port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

/** Real brokers on this machine, in temporary folders. */
export class KafkaCluster implements AsyncDisposable {
  readonly brokers: readonly string[];
  readonly #folder: string;
  readonly #processes: (ChildProcess | undefined)[];
  readonly #secure: SecureKafka | undefined;

  private constructor(folder: string, brokers: readonly string[], secure?: SecureKafka) {
    this.#folder = folder;
    this.#secure = secure;
    this.brokers = brokers;
    this.#processes = brokers.map(() => undefined);
  }

  /**
   * With `secure`, clients need TLS and have to sign in as a user. `CLUSTER_KAFKA` names brokers that run already, as
   * `host:port,host:port,host:port`; they are not asked where something is to be secure.
   */
  static async start(count = 3, secure?: SecureKafka): Promise<KafkaCluster> {
    const given = process.env["CLUSTER_KAFKA"];
    if (given && secure === undefined) return new KafkaCluster(await temporaryFolder(), given.split(","));
    await installKafka();
    const folder = await temporaryFolder();
    const ports = await freePorts(3 * count);
    const voters = ports.slice(count, 2 * count).map((port, i) => `${i + 1}@127.0.0.1:${port}`);
    const cluster = new KafkaCluster(
      folder,
      ports.slice(0, count).map((port) => `127.0.0.1:${port}`),
      secure,
    );
    for (let i = 0; i < count; i++) {
      const text = configText(i + 1, ports[i]!, ports[count + i]!, voters, join(folder, `${i}`));
      const more =
        secure === undefined ? "" : secureText(secure, folder, ports[i]!, ports[2 * count + i]!, ports[count + i]!);
      writeFileSync(cluster.#config(i), text + more);
    }
    const users = secure === undefined ? [] : scramUsers(secure);
    const clusterId = "bmF0aXZlLWVuZ2luZS0xMQ";
    for (let i = 0; i < count; i++) {
      await run("java", [
        ...javaArgs,
        "kafka.tools.StorageTool",
        "format",
        "-t",
        clusterId,
        "-c",
        cluster.#config(i),
        ...users,
      ]);
    }
    for (let i = 0; i < count; i++) cluster.launch(i);
    await cluster.ready();
    return cluster;
  }

  #config(i: number): string {
    return join(this.#folder, `broker-${i}.properties`);
  }

  launch(i: number): void {
    const output = openSync(join(this.#folder, `broker-${i}.log`), "a");
    this.#processes[i] = spawn("java", [...javaArgs, "kafka.Kafka", this.#config(i)], {
      stdio: ["ignore", output, output],
    });
  }

  signal(i: number, signal: "SIGKILL" | "SIGSTOP" | "SIGCONT"): void {
    this.#processes[i]?.kill(signal);
  }

  /** Waits until every broker is in the cluster. */
  async ready(): Promise<void> {
    const endMs = Date.now() + startMsMax;
    for (;;) {
      const admin = new Admin({
        clientId: "test",
        bootstrapBrokers: [...this.brokers],
        retries: 0,
        ...(this.#secure && {
          tls: { ca: this.#secure.cert },
          sasl: { mechanism: "PLAIN", username: this.#secure.username, password: this.#secure.password },
        }),
      });
      try {
        const { brokers } = await admin.metadata({ topics: [] });
        if (brokers.size === this.brokers.length) return;
      } catch (error) {
        if (Date.now() > endMs) throw error;
      } finally {
        await admin.close().catch(() => undefined);
      }
      await sleep(300);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(
      this.#processes.map(async (child) => {
        if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
        const exited = once(child, "exit");
        child.kill("SIGCONT");
        child.kill("SIGKILL");
        await exited;
      }),
    );
    await rm(this.#folder, { recursive: true, force: true });
  }
}

function configText(
  id: number,
  port: number,
  controllerPort: number,
  voters: readonly string[],
  folder: string,
): string {
  return Object.entries({
    "process.roles": "broker,controller",
    "node.id": id,
    "controller.quorum.voters": voters.join(","),
    listeners: `PLAINTEXT://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controllerPort}`,
    "advertised.listeners": `PLAINTEXT://127.0.0.1:${port}`,
    "controller.listener.names": "CONTROLLER",
    "log.dirs": folder,
    "min.insync.replicas": 2,
    "unclean.leader.election.enable": false,
    "auto.create.topics.enable": false,
    "message.max.bytes": 32 * 1024 * 1024,
    "replica.fetch.max.bytes": 32 * 1024 * 1024,
    "offsets.topic.num.partitions": 1,
    "num.network.threads": 2,
    "num.io.threads": 2,
    "log.cleaner.enable": false,
    "broker.session.timeout.ms": 4_000,
    "broker.heartbeat.interval.ms": 500,
    "replica.lag.time.max.ms": 4_000,
  })
    .map(([name, value]) => `${name}=${value}\n`)
    .join("");
}

/** Later lines of a file of properties replace earlier ones. */
function secureText(
  { cert, key, username, password }: SecureKafka,
  folder: string,
  port: number,
  innerPort: number,
  controllerPort: number,
): string {
  const store = join(folder, "broker.pem");
  writeFileSync(store, key + cert, { mode: 0o600 });
  const module = (name: string) => `org.apache.kafka.common.security.${name} required`;
  const user = `username="${username}" password="${password}" user_${username}="${password}"`;
  return Object.entries({
    listeners: `INNER://127.0.0.1:${innerPort},CONTROLLER://127.0.0.1:${controllerPort},OUTER://127.0.0.1:${port}`,
    "advertised.listeners": `INNER://127.0.0.1:${innerPort},OUTER://127.0.0.1:${port}`,
    "listener.security.protocol.map": "INNER:PLAINTEXT,CONTROLLER:PLAINTEXT,OUTER:SASL_SSL",
    "inter.broker.listener.name": "INNER",
    "ssl.keystore.type": "PEM",
    "ssl.keystore.location": store,
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
    "listener.name.outer.plain.sasl.jaas.config": `${module("plain.PlainLoginModule")} ${user};`,
    "listener.name.outer.scram-sha-256.sasl.jaas.config": `${module("scram.ScramLoginModule")};`,
    "listener.name.outer.scram-sha-512.sasl.jaas.config": `${module("scram.ScramLoginModule")};`,
  })
    .map(([name, value]) => `${name}=${value}\n`)
    .join("");
}

function scramUsers({ username, password }: SecureKafka): string[] {
  return ["SCRAM-SHA-256", "SCRAM-SHA-512"].flatMap((mechanism) => [
    "--add-scram",
    `${mechanism}=[name=${username},password=${password}]`,
  ]);
}
