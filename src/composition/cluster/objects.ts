import { join } from "node:path";
import type { Logger } from "pino";
import { CachedObjectStore } from "../../adapter/files/cached-object-store.ts";
import { FilesObjectStore } from "../../adapter/files/object-store.ts";
import { NodeRandom } from "../../adapter/node/random.ts";
import { S3ObjectStore } from "../../adapter/s3/object-store.ts";
import { probeBucket } from "../../adapter/s3/probe.ts";
import { invalid } from "../../engine/errors.ts";
import type { ObjectStore } from "../../port/object-store.ts";
import type { ServerConfig } from "../config/config.ts";
import type { ObjectsPlace } from "../objects.ts";

/** Where a node of a cluster finds the objects. */
export function clusterPlace(config: ServerConfig): ObjectsPlace {
  const { clusterObjects, clusterObjectsEndpoint, clusterObjectsRegion: region, bucketKeys, dataDir } = config;
  if (clusterObjects?.kind !== "s3") return { kind: "files", folder: clusterObjects!.folder, isShared: true };
  const { bucket, prefix } = clusterObjects;
  const endpoint = (clusterObjectsEndpoint ?? `https://s3.${region}.amazonaws.com`).replace(/\/+$/, "");
  return {
    kind: "s3",
    address: { endpoint, region, bucket, prefix, ...bucketKeys! },
    cacheFolder: join(dataDir, "objects-cache"),
    cacheBytesMax: config.clusterCacheBytes,
  };
}

/**
 * The objects without a cache. Refuses a bucket that can't be used. One that does not answer is taken for now: a node must be able to start
 * while it is away.
 */
export async function openClusterObjects(place: ObjectsPlace, log: Logger): Promise<ObjectStore> {
  if (place.kind === "files") return new FilesObjectStore(place.folder);
  await CachedObjectStore.empty(place.cacheFolder);
  const objects = new S3ObjectStore(place.address);
  const { endpoint, bucket } = place.address;
  try {
    const result = await probeBucket(objects, Buffer.from(new NodeRandom().bytes(8)).toString("hex"));
    if (result === "unknown")
      log.warn({ endpoint, bucket }, "the bucket of objects does not answer; the node goes on without it");
  } catch (error) {
    throw invalid("SERVICE_CLUSTER_OBJECTS", `the bucket ${bucket} can't be used: ${(error as Error).message}`);
  }
  return objects;
}
