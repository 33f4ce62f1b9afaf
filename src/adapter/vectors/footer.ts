import { crc32 } from "../../port/checksum.ts";

/** Of a number of a row. */
export type RowBits = 4 | 8;

/**
 * What follows the graph in its file: neither usearch nor the walk checks what a link points to. Little endian: magic (8
 * bytes), bytes of the graph (f64), factor (f64), rows (u32), dim (u32), distance (u8), bent (u8), patience (u16), CRC-32 of the
 * graph (u32), CRC-32 of the footer so far (u32).
 */
export interface Footer {
  /** `usearch`: as usearch saves it. `walk`: see `walk-file.ts`. `codes`: see `codes-file.ts`. */
  readonly form: "usearch" | "walk" | "codes";
  /** Of a number of a row, where it is to walk. */
  readonly bits: RowBits;
  readonly graphBytes: number;
  /** What vectors were multiplied with, see `scale.ts`. */
  readonly factor: number;
  readonly rowCount: number;
  readonly dim: number;
  readonly distance: "cosine" | "dot" | "l2";
  /** Whether lengths were drawn together, see `scale.ts`. */
  readonly bent: boolean;
  /**
   * After how many rows whose links are followed a walk ends if the nearest are still the same: so many for each 100 candidates, and
   * some more (`patienceMin`). 0: a walk never ends early, since the graph's quality was measured so.
   */
  readonly patience: number;
  readonly checksum: number;
}

export const footerBytes = 44;
/** A build that doesn't know a form refuses it, and compares all vectors. */
const magics = [
  { form: "usearch", bits: 8, magic: Buffer.from("NEVGRF01") },
  { form: "walk", bits: 8, magic: Buffer.from("NEVGRF02") },
  { form: "walk", bits: 4, magic: Buffer.from("NEVGRF03") },
  { form: "codes", bits: 8, magic: Buffer.from("NEVGRF04") },
] as const;
const distances = ["cosine", "dot", "l2"] as const;

export function encodeFooter(footer: Footer): Buffer {
  const bytes = Buffer.alloc(footerBytes);
  const bits = footer.form === "walk" ? footer.bits : 8;
  magics.find((each) => each.form === footer.form && each.bits === bits)!.magic.copy(bytes);
  bytes.writeDoubleLE(footer.graphBytes, 8);
  bytes.writeDoubleLE(footer.factor, 16);
  bytes.writeUInt32LE(footer.rowCount, 24);
  bytes.writeUInt32LE(footer.dim, 28);
  bytes.writeUInt8(distances.indexOf(footer.distance), 32);
  bytes.writeUInt8(footer.bent ? 1 : 0, 33);
  bytes.writeUInt16LE(footer.patience, 34);
  bytes.writeUInt32LE(footer.checksum, 36);
  bytes.writeUInt32LE(crc32(bytes.subarray(0, 40)), 40);
  return bytes;
}

/** Undefined when it is none. */
export function decodeFooter(bytes: Buffer): Footer | undefined {
  const known = magics.find(({ magic }) => bytes.subarray(0, 8).equals(magic));
  if (bytes.length !== footerBytes || known === undefined) return undefined;
  if (bytes.readUInt32LE(40) !== crc32(bytes.subarray(0, 40))) return undefined;
  const distance = distances[bytes.readUInt8(32)];
  if (distance === undefined) return undefined;
  return {
    form: known.form,
    bits: known.bits,
    graphBytes: bytes.readDoubleLE(8),
    factor: bytes.readDoubleLE(16),
    rowCount: bytes.readUInt32LE(24),
    dim: bytes.readUInt32LE(28),
    distance,
    bent: bytes.readUInt8(33) === 1,
    patience: bytes.readUInt16LE(34),
    checksum: bytes.readUInt32LE(36),
  };
}
