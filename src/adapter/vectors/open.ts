import { open } from "node:fs/promises";
import type { SharedBytes } from "../../port/shared-bytes.ts";
import { viewShared } from "../../port/shared-bytes.ts";
import { type GraphQuality, type VectorGraph, VectorGraphError } from "../../port/vector-graph.ts";
import { CodedRows, codesSizes } from "./coded-rows.ts";
import { decodeFooter, footerBytes } from "./footer.ts";
import { readFooter, verify } from "./graph-file.ts";
import { graphMemory, headBytes } from "./graph-memory.ts";
import { openUsearch } from "./usearch-graph.ts";
import { WalkedGraph, walkSizes } from "./walked-graph.ts";

/** Opens a file of any form. */
export async function openGraph(path: string, quality?: GraphQuality): Promise<VectorGraph> {
  await using file = await open(path, "r").catch((error: unknown) => {
    throw new VectorGraphError("damaged", `${path}: can't be opened`, error);
  });
  const footer = await readFooter(file, path);
  if (footer.form === "usearch") {
    await verify(file, footer);
    return openUsearch(path, footer, quality);
  }
  const head = new Uint32Array(headBytes / 4);
  await file.read(head, 0, head.byteLength, 0);
  const memory = graphMemory(footer, footer.form === "walk" ? walkSizes(footer, head) : codesSizes(footer, head));
  if (memory === undefined) throw new VectorGraphError("damaged", `${path}: is larger than any that is made`);
  await verify(file, footer, memory.graph);
  return openSharedGraph(memory.shared, quality);
}

/** Opens what another thread has opened. */
export function openSharedGraph(shared: SharedBytes, quality?: GraphQuality): VectorGraph {
  const footer = decodeFooter(Buffer.from(viewShared(shared).subarray(0, footerBytes)));
  return footer?.form === "codes" ? new CodedRows(shared, quality) : new WalkedGraph(shared, quality);
}
