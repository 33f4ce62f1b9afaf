import { readFileSync } from "node:fs";
import { rootCertificates } from "node:tls";
import type { KafkaAddress } from "../../adapter/kafka/clients.ts";
import type { ClusterKeys, ClusterLogAddress } from "../config/cluster.ts";
import type { ServerConfig } from "../config/config.ts";

/** The one shard that a cluster has. */
const shard = 0;

export function kafkaAddress(
  log: ClusterLogAddress,
  keys: ClusterKeys | undefined,
  caFile: string | undefined,
): KafkaAddress {
  const { brokers, prefix, tls, mechanism } = log;
  return {
    brokers,
    topic: `${prefix}.${shard}`,
    ...(tls && { tls: caFile === undefined ? {} : trusting(caFile) }),
    ...(mechanism !== undefined && keys !== undefined && { sasl: { mechanism, ...keys } }),
  };
}

/** Nodes that share a certificate trust each other by it. */
export function peerTls({ tlsCertFile }: ServerConfig): { ca: string[] } | undefined {
  return tlsCertFile === undefined ? undefined : trusting(tlsCertFile);
}

function trusting(file: string): { ca: string[] } {
  return { ca: [readFileSync(file, "utf8"), ...rootCertificates] };
}
