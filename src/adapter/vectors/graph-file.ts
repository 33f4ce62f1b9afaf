import { type FileHandle, open, rename } from "node:fs/promises";
import { dirname } from "node:path";
import { crc32 } from "../../port/checksum.ts";
import { syncFolder } from "../../port/sync-folder.ts";
import { VectorGraphError } from "../../port/vector-graph.ts";
import { decodeFooter, encodeFooter, type Footer, footerBytes } from "./footer.ts";

/** Of a file read at once when its checksum is made. */
const readBytes = 1024 * 1024;

/** Writes pieces and the footer that they need; returns the size of the file. */
export async function writeGraph(
  path: string,
  pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  what: Omit<Footer, "graphBytes" | "checksum">,
  pause: () => Promise<void>,
): Promise<number> {
  await using file = await open(path, "w");
  let graphBytes = 0;
  let checksum = 0;
  for await (const piece of pieces) {
    await file.writeFile(piece);
    checksum = crc32(piece, checksum);
    graphBytes += piece.length;
    await pause();
  }
  await file.writeFile(encodeFooter({ ...what, graphBytes, checksum }));
  return graphBytes + footerBytes;
}

/** Gives a file that was written its name, when it is on the disk. */
export async function finishGraph(partial: string, path: string): Promise<void> {
  await using file = await open(partial, "r+");
  await file.sync();
  await rename(partial, path);
  await syncFolder(dirname(path));
}

/** Reads a graph, into memory where it is to stay there, and compares its checksum. */
export async function verify(file: FileHandle, { graphBytes, checksum }: Footer, into?: Uint8Array): Promise<void> {
  const piece = into === undefined ? Buffer.allocUnsafe(Math.min(graphBytes, readBytes)) : undefined;
  let sum = 0;
  for (let at = 0; at < graphBytes; ) {
    const wanted = Math.min(readBytes, graphBytes - at);
    const part = piece?.subarray(0, wanted) ?? into!.subarray(at, at + wanted);
    const { bytesRead } = await file.read(part, 0, wanted, at);
    if (bytesRead === 0) throw new VectorGraphError("damaged", "the file ended while it was read");
    sum = crc32(part.subarray(0, bytesRead), sum);
    at += bytesRead;
  }
  if (sum !== checksum) throw new VectorGraphError("damaged", "a graph's checksum does not match");
}

export async function readFooter(file: FileHandle, path: string): Promise<Footer> {
  const { size } = await file.stat();
  const bytes = Buffer.alloc(footerBytes);
  await file.read(bytes, 0, footerBytes, Math.max(0, size - footerBytes));
  const footer = decodeFooter(bytes);
  if (footer === undefined || footer.graphBytes !== size - footerBytes) {
    throw new VectorGraphError("damaged", `${path}: is no whole graph`);
  }
  return footer;
}
