import { hostname } from "node:os";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { invalid } from "../../engine/errors.ts";
import { type Address, parseAddress } from "../../listener/address.ts";
import { durationWithin, url, wholeNumber } from "./values.ts";

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
  const option = options.get(name) ?? values[0]!;
  if (!values.includes(option)) throw invalid(field, `${name}=${option} is not one of ${values.join(", ")}`);
  return option;
}

/** Where all nodes find the objects: a folder that they share, or a bucket. */
export type ClusterObjectsAddress =
  | { readonly kind: "files"; readonly folder: string }
  | {
      readonly kind: "s3";
      readonly bucket: string;
      /** Empty, or with a slash at its end. */
      readonly prefix: string;
    };

const bucketPattern = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;
const keyPattern = /^(?:[A-Za-z0-9!_.*'()-]+\/)*$/;

export function parseClusterObjects(text: string, field: string): ClusterObjectsAddress {
  const bucket = /^s3:\/\/([^/]*)\/?(.*)$/.exec(text.trim());
  if (bucket !== null) {
    const [name = "", path = ""] = bucket.slice(1);
    if (!bucketPattern.test(name)) throw invalid(field, `${JSON.stringify(name)} can't be the name of a bucket`);
    const prefix = path === "" || path.endsWith("/") ? path : `${path}/`;
    if (!keyPattern.test(prefix) || prefix.split("/").includes("..")) {
      throw invalid(field, "must be s3://bucket/prefix, without a query; the endpoint and keys have variables");
    }
    return { kind: "s3", bucket: name, prefix };
  }
  if (!text.startsWith("file://") || !URL.canParse(text)) {
    throw invalid(field, "must be file:///folder or s3://bucket/prefix");
  }
  try {
    return { kind: "files", folder: resolve(fileURLToPath(text)) };
  } catch {
    throw invalid(field, "must be file:///folder, without a host");
  }
}

function parseRegion(text: string, field: string): string {
  if (!/^[a-z0-9-]{1,64}$/.test(text)) throw invalid(field, `${JSON.stringify(text)} is no region`);
  return text;
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
export function checkCluster(objects: ClusterObjectsAddress | undefined, authModes: readonly string[]): void {
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
  const password = secretOf(secretName, env, readSecret);
  const username = env[userName];
  if (!username) throw invalid(userName, `is needed for ${mechanism}`);
  if (!password) throw invalid(secretName, `is needed for ${mechanism}`);
  return { username, password };
}

/** A variable, or what is in the file that `NAME_FILE` names. */
function secretOf(
  name: string,
  env: Readonly<Record<string, string | undefined>>,
  readSecret: (field: string, path: string) => string,
): string | undefined {
  const file = env[`${name}_FILE`] || undefined;
  if (file !== undefined && env[name]) throw invalid(name, `is given twice: also as ${name}_FILE`);
  return file === undefined ? env[name] : readSecret(`${name}_FILE`, file);
}

/** What a bucket asks for. */
export interface BucketKeys {
  readonly accessKey: string;
  readonly secretKey: string;
}

export interface ClusterSecrets {
  readonly clusterKeys?: ClusterKeys;
  readonly bucketKeys?: BucketKeys;
}

export function loadClusterSecrets(
  log: ClusterLogAddress,
  objects: ClusterObjectsAddress | undefined,
  env: Readonly<Record<string, string | undefined>>,
  readSecret: (field: string, path: string) => string,
): ClusterSecrets {
  const clusterKeys = loadClusterKeys(log, env, readSecret);
  const bucketKeys = loadBucketKeys(objects, env, readSecret);
  return { ...(clusterKeys && { clusterKeys }), ...(bucketKeys && { bucketKeys }) };
}

/** Undefined where the objects are in a folder. */
function loadBucketKeys(
  objects: ClusterObjectsAddress | undefined,
  env: Readonly<Record<string, string | undefined>>,
  readSecret: (field: string, path: string) => string,
): BucketKeys | undefined {
  if (objects?.kind !== "s3") return undefined;
  const [accessName, secretName] = ["SERVICE_CLUSTER_OBJECTS_ACCESS_KEY", "SERVICE_CLUSTER_OBJECTS_SECRET_KEY"];
  const accessKey = secretOf(accessName, env, readSecret);
  const secretKey = secretOf(secretName, env, readSecret);
  if (!accessKey) throw invalid(accessName, "is needed for objects in S3");
  if (!secretKey) throw invalid(secretName, "is needed for objects in S3");
  return { accessKey, secretKey };
}

interface ClusterSetting<T> {
  readonly flag: string;
  readonly env: string;
  readonly value: string;
  readonly help: string;
  readonly fallback: T;
  readonly parse: (text: string, field: string) => T;
}

/** The flag gives the variable its name. */
function named<T>(flag: string, value: string, help: string, parse: (text: string, field: string) => T) {
  return withDefault<T | undefined>(flag, value, help, undefined, parse);
}

function withDefault<T>(
  flag: string,
  value: string,
  help: string,
  fallback: T,
  parse: (text: string, field: string) => T,
): ClusterSetting<T> {
  const env = `SERVICE_${flag.toUpperCase().replaceAll("-", "_")}`;
  return { flag, env, value, help, fallback, parse };
}

export const clusterSettingsTable = {
  clusterLog: named(
    "cluster-log",
    "URL",
    "makes this server a node of a cluster: kafka://host:port,host:port,host:port/prefix",
    parseClusterLog,
  ),
  clusterLogCaFile: named(
    "cluster-log-ca-file",
    "FILE",
    "CA certificates (PEM) to trust for the log's brokers, besides Node's own",
    (text) => resolve(text),
  ),
  clusterObjects: named(
    "cluster-objects",
    "URL",
    "where the nodes of a cluster share index segments, datasets and snapshots: s3://bucket/prefix, or file:///folder",
    parseClusterObjects,
  ),
  clusterObjectsEndpoint: named(
    "cluster-objects-endpoint",
    "URL",
    "the S3 endpoint, https://host:port; without it, AWS in the region",
    url,
  ),
  clusterObjectsRegion: withDefault(
    "cluster-objects-region",
    "NAME",
    "the region of the bucket",
    "us-east-1",
    parseRegion,
  ),
  clusterCacheBytes: withDefault(
    "cluster-cache-bytes",
    "NUMBER",
    "approximate size limit of the local cache of objects in S3",
    10 * 1024 ** 3,
    wholeNumber(1, 2 ** 50),
  ),
  clusterSnapshotIntervalMs: withDefault(
    "cluster-snapshot-interval",
    "DURATION",
    "how often to take a snapshot of the store, if anything was written",
    3_600_000,
    durationWithin("1s", "7d"),
  ),
  nodeId: named("node-id", "NAME", "the name of this node in its cluster; the machine's name unless set", parseNodeId),
  advertise: named(
    "advertise",
    "HOST:PORT",
    "the address at which other nodes reach this one's main port; without it, the address it listens on",
    parseAdvertise,
  ),
} as const;
