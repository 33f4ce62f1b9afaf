import { FilesObjectStore } from "../adapter/files/object-store.ts";
import type { LanceOptions } from "../adapter/lance/columnar.ts";
import type { S3Address } from "../adapter/s3/client.ts";
import type { ObjectStore } from "../port/object-store.ts";

/** Where objects are; sent to every thread. */
export type ObjectsPlace =
  | {
      readonly kind: "files";
      readonly folder: string;
      /** Other processes write there, too. */
      readonly isShared?: boolean;
    }
  | {
      readonly kind: "s3";
      readonly address: S3Address;
      readonly cacheFolder: string;
      readonly cacheBytesMax: number;
    };

/** What only a bucket needs is loaded only for one: every thread opens its objects when it starts. */
export async function openObjects(place: ObjectsPlace): Promise<ObjectStore> {
  if (place.kind === "files") return new FilesObjectStore(place.folder);
  const { CachedObjectStore } = await import("../adapter/files/cached-object-store.ts");
  const { S3ObjectStore } = await import("../adapter/s3/object-store.ts");
  return new CachedObjectStore(new S3ObjectStore(place.address), place.cacheFolder, place.cacheBytesMax);
}

export function lanceOptions(place: ObjectsPlace): LanceOptions {
  if (place.kind === "files") return { isShared: place.isShared === true };
  const { endpoint, region, accessKey, secretKey } = place.address;
  const storage = {
    aws_endpoint: endpoint,
    aws_region: region,
    aws_access_key_id: accessKey,
    aws_secret_access_key: secretKey,
    allow_http: String(endpoint.startsWith("http:")),
  };
  return { isShared: true, storage };
}
