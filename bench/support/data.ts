import { DocumentSource, type Documents } from "./documents.ts";
import { PackageDocuments } from "./packages.ts";

const seed = 6;

/** Made ones are the same everywhere; packages are real texts, where apt is. */
export type DataName = "made" | "packages";

export function documentsOf(data: DataName): Documents {
  return data === "packages" ? new PackageDocuments() : new DocumentSource(seed);
}
