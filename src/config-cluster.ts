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
