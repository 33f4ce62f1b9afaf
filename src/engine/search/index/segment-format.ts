import { crc32 } from "../../../port/checksum.ts";
import { EngineError } from "../../errors.ts";

/**
 * A segment is one blob:
 *
 *   "NSEG" | format u32 | header bytes u32 | header crc32 u32 | header (JSON) | sections, each aligned to 8 bytes
 *
 * all numbers little-endian. The header names every section with its type, offset, length and crc32, so that a reader
 * makes typed views into the blob and decodes nothing at opening.
 */
const magic = 0x4745534e;
const format = 1;
const prefixBytes = 16;
const alignment = 8;

type Section = Uint8Array | Uint16Array | Uint32Array | Float32Array | Float64Array;
type SectionType = "u8" | "u16" | "u32" | "f32" | "f64";

interface SectionEntry {
  readonly type: SectionType;
  /** Bytes from the end of the header, aligned. */
  readonly at: number;
  readonly bytes: number;
  readonly crc: number;
}

interface Header {
  readonly meta: unknown;
  readonly sections: Readonly<Record<string, SectionEntry>>;
}

function typeOf(section: Section): SectionType {
  if (section instanceof Uint8Array) return "u8";
  if (section instanceof Uint16Array) return "u16";
  if (section instanceof Uint32Array) return "u32";
  return section instanceof Float32Array ? "f32" : "f64";
}

function aligned(bytes: number): number {
  return Math.ceil(bytes / alignment) * alignment;
}

function bytesOf(section: Section): Uint8Array {
  return new Uint8Array(section.buffer, section.byteOffset, section.byteLength);
}

function damaged(what: string): EngineError {
  return new EngineError("internal", `damaged segment: ${what}`);
}

/** Gathers named sections and puts them into one blob. */
export class SectionWriter {
  readonly #sections = new Map<string, Section>();

  add(name: string, section: Section): void {
    this.#sections.set(name, section);
  }

  finish(meta: unknown): Uint8Array<ArrayBuffer> {
    const sections: Record<string, SectionEntry> = {};
    let at = 0;
    for (const [name, section] of this.#sections) {
      sections[name] = { type: typeOf(section), at, bytes: section.byteLength, crc: crc32(bytesOf(section)) };
      at += aligned(section.byteLength);
    }
    const header = Buffer.from(JSON.stringify({ meta, sections } satisfies Header));
    const start = aligned(prefixBytes + header.length);
    const blob = new Uint8Array(start + at);
    const prefix = new DataView(blob.buffer);
    prefix.setUint32(0, magic, true);
    prefix.setUint32(4, format, true);
    prefix.setUint32(8, header.length, true);
    prefix.setUint32(12, crc32(header), true);
    blob.set(header, prefixBytes);
    for (const [name, section] of this.#sections) blob.set(bytesOf(section), start + sections[name]!.at);
    return blob;
  }
}

/** No bytes have a sum too, of zero: a header that was overwritten by zeros passes its check. */
function parseHeader(bytes: Uint8Array): Header {
  try {
    return JSON.parse(Buffer.from(bytes).toString()) as Header;
  } catch {
    throw damaged("header");
  }
}

/** Typed views into a segment's blob. */
export class SectionReader {
  readonly meta: unknown;
  readonly #bytes: Uint8Array;
  readonly #start: number;
  readonly #sections: Readonly<Record<string, SectionEntry>>;

  constructor(bytes: Uint8Array) {
    // Typed views need their alignment; a blob that comes at an odd place of a pooled buffer is copied once.
    this.#bytes = bytes.byteOffset % alignment === 0 ? bytes : bytes.slice();
    const { byteOffset, byteLength } = this.#bytes;
    if (byteLength < prefixBytes) throw damaged("too short");
    const prefix = new DataView(this.#bytes.buffer, byteOffset, prefixBytes);
    if (prefix.getUint32(0, true) !== magic) throw damaged("not a segment");
    const found = prefix.getUint32(4, true);
    if (found !== format) {
      const help = "start a newer build, or make the index anew with `doctor --rebuild`";
      throw damaged(`its format is ${found}, and this build reads ${format}: ${help}`);
    }
    const headerBytes = prefix.getUint32(8, true);
    if (prefixBytes + headerBytes > byteLength) throw damaged("too short for its header");
    const header = this.#bytes.subarray(prefixBytes, prefixBytes + headerBytes);
    if (crc32(header) !== prefix.getUint32(12, true)) throw damaged("header checksum");
    const parsed = parseHeader(header);
    this.meta = parsed.meta;
    this.#sections = parsed.sections;
    this.#start = aligned(prefixBytes + headerBytes);
    for (const [name, entry] of Object.entries(parsed.sections)) {
      if (this.#start + entry.at + entry.bytes > byteLength) throw damaged(`too short for ${name}`);
    }
  }

  get byteLength(): number {
    return this.#bytes.byteLength;
  }

  has(name: string): boolean {
    return Object.hasOwn(this.#sections, name);
  }

  #entry(name: string, type: SectionType): { buffer: ArrayBufferLike; offset: number; bytes: number } {
    const entry = Object.hasOwn(this.#sections, name) ? this.#sections[name] : undefined;
    if (entry?.type !== type) throw damaged(`no section ${name} of type ${type}`);
    return { buffer: this.#bytes.buffer, offset: this.#bytes.byteOffset + this.#start + entry.at, bytes: entry.bytes };
  }

  u8(name: string): Uint8Array {
    const { buffer, offset, bytes } = this.#entry(name, "u8");
    return new Uint8Array(buffer, offset, bytes);
  }

  u16(name: string): Uint16Array {
    const { buffer, offset, bytes } = this.#entry(name, "u16");
    return new Uint16Array(buffer, offset, bytes / 2);
  }

  u32(name: string): Uint32Array {
    const { buffer, offset, bytes } = this.#entry(name, "u32");
    return new Uint32Array(buffer, offset, bytes / 4);
  }

  f32(name: string): Float32Array {
    const { buffer, offset, bytes } = this.#entry(name, "f32");
    return new Float32Array(buffer, offset, bytes / 4);
  }

  f64(name: string): Float64Array {
    const { buffer, offset, bytes } = this.#entry(name, "f64");
    return new Float64Array(buffer, offset, bytes / 8);
  }

  /** Reads every byte and compares the checksums; opening checks the header's alone. */
  verify(): void {
    for (const [name, entry] of Object.entries(this.#sections)) {
      const from = this.#start + entry.at;
      if (crc32(this.#bytes.subarray(from, from + entry.bytes)) !== entry.crc) throw damaged(`checksum of ${name}`);
    }
  }
}
