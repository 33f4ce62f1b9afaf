import { hostname } from "node:os";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { invalid } from "./engine/errors.ts";
import { type Address, parseAddress } from "./listener/address.ts";

/** Where the shared log of a cluster is. */
export interface ClusterLogAddress {
  readonly brokers: readonly string[];
  /** Topics begin with it. */
  readonly prefix: string;
  readonly tls: boolean;
  readonly mechanism: "PLAIN" | "SCRAM-SHA-256" | "SCRAM-SHA-512" | undefined;
  /** Takes a topic that may lose what it has acknowledged. */
  readonly allowsLoss: boolean;
}

const brokersMax = 32;
const namePattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const mechanisms = { plain: "PLAIN", "scram-sha-256": "SCRAM-SHA-256", "scram-sha-512": "SCRAM-SHA-512" } as const;

/** `kafka://host:port,host:port,host:port/prefix`, with `tls`, `sasl` and `replication` after a question mark. */
export function parseClusterLog(text: string, field: string): ClusterLogAddress {
  const match = /^kafka:\/\/([^/?#@]+)(?:\/([^/?#]*))?(?:\?([^#]*))?$/.exec(text.trim());
  if (match === null) throw invalid(field, "must be kafka://host:port,host:port,host:port/prefix; keys have variables");
  const brokers = match[1]!.split(",").map((each) => broker(each, field));
  if (brokers.length > brokersMax) throw invalid(field, `has more than ${brokersMax} brokers`);
  const prefix = match[2] || "native-engine";
  if (!namePattern.test(prefix)) throw invalid(field, `${JSON.stringify(prefix)} can't begin the name of a topic`);
  const options = new URLSearchParams(match[3] ?? "");
  for (const name of options.keys()) {
    if (!["tls", "sasl", "replication"].includes(name)) throw invalid(field, `has an unknown option ${name}`);
  }
  const sasl = options.get("sasl");
  const mechanism = sasl === null ? undefined : mechanisms[sasl.toLowerCase() as keyof typeof mechanisms];
  if (sasl !== null && mechanism === undefined) {
    throw invalid(field, `sasl=${sasl} is not one of ${Object.keys(mechanisms).join(", ")}`);
  }
  const tls = choice(options, "tls", ["false", "true"], field) === "true";
  const allowsLoss = choice(options, "replication", ["safe", "any"], field) === "any";
  return { brokers, prefix, tls, mechanism, allowsLoss };
}

function broker(text: string, field: string): string {
  const withPort = /:\d+$/.test(text) ? text : `${text}:9092`;
  parseAddress(withPort, field);
  return withPort;
}

function choice(options: URLSearchParams, name: string, values: readonly string[], field: string): string {
  const given = options.get(name) ?? values[0]!;
  if (!values.includes(given)) throw invalid(field, `${name}=${given} is not one of ${values.join(", ")}`);
  return given;
}

/** The folder in which all nodes find the objects. */
export function parseClusterObjects(text: string, field: string): string {
  if (text.startsWith("s3://")) {
    throw invalid(field, "objects in S3 are not implemented yet: give file:///folder, which all nodes share");
  }
  if (!text.startsWith("file://") || !URL.canParse(text)) throw invalid(field, "must be file:///folder");
  try {
    return resolve(fileURLToPath(text));
  } catch {
    throw invalid(field, "must be file:///folder, without a host");
  }
}

export function parseNodeId(text: string, field: string): string {
  if (!namePattern.test(text)) throw invalid(field, "must be up to 64 letters, digits, dots, hyphens and underscores");
  return text;
}

/** The machine's own name, as far as it is one. */
export function defaultNodeId(): string {
  const name = hostname();
  return namePattern.test(name) ? name : "node";
}

/** Where the other nodes reach this one's main port. */
export function parseAdvertise(text: string, field: string): Address {
  const address = parseAddress(text, field);
  if (address.host === "::" || address.host === "0.0.0.0") throw invalid(field, "must name one address, not all");
  return address;
}

/** What else a node of a cluster needs. */
export function checkCluster(objects: string | undefined, authModes: readonly string[]): void {
  if (objects === undefined) {
    throw invalid("SERVICE_CLUSTER_OBJECTS", "a node of a cluster needs a place for objects that all nodes share");
  }
  if (authModes.includes("mesh")) {
    throw invalid("SERVICE_AUTH_MODE", "mesh tells callers by their address, which nodes of a cluster do not pass on");
  }
}

/** What the log of a cluster asks for. */
export interface ClusterKeys {
  readonly username: string;
  readonly password: string;
}

/** Of SASL; undefined where the log asks for none. `readSecret` gives what is in a file. */
export function loadClusterKeys(
  { mechanism }: ClusterLogAddress,
  env: Readonly<Record<string, string | undefined>>,
  readSecret: (field: string, path: string) => string,
): ClusterKeys | undefined {
  if (mechanism === undefined) return undefined;
  const [userName, secretName] = ["SERVICE_CLUSTER_LOG_USERNAME", "SERVICE_CLUSTER_LOG_PASSWORD"];
  const file = env[`${secretName}_FILE`] || undefined;
  const password = file === undefined ? env[secretName] : readSecret(`${secretName}_FILE`, file);
  const username = env[userName];
  if (!username) throw invalid(userName, `is needed for ${mechanism}`);
  if (!password) throw invalid(secretName, `is needed for ${mechanism}`);
  return { username, password };
}

interface ClusterSetting<T> {
  readonly flag: string;
  readonly env: string;
  readonly value: string;
  readonly help: string;
  readonly fallback: undefined;
  readonly parse: (text: string, field: string) => T;
}

/** The flag gives the variable its name. */
function named<T>(flag: string, value: string, help: string, parse: ClusterSetting<T>["parse"]) {
  const env = `SERVICE_${flag.toUpperCase().replaceAll("-", "_")}`;
  const setting: ClusterSetting<T | undefined> = { flag, env, value, help, fallback: undefined, parse };
  return setting;
}

export const clusterSettingsTable = {
  clusterLog: named(
    "cluster-log",
    "URL",
    "makes this server a node of a cluster: kafka://host:port,host:port,host:port/prefix",
    parseClusterLog,
  ),
  clusterObjects: named(
    "cluster-objects",
    "URL",
    "where all nodes of a cluster find index segments and datasets: file:///folder, which they share",
    parseClusterObjects,
  ),
  nodeId: named("node-id", "NAME", "the name of this node in its cluster; the machine's name unless set", parseNodeId),
  advertise: named(
    "advertise",
    "HOST:PORT",
    "where the other nodes of a cluster reach the main port of this one; without it, the address it listens on",
    parseAdvertise,
  ),
} as const;
