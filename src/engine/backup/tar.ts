/**
 * The archive's form, so that any tool can list a backup:
 *
 *   archive  = *member 2*zero-block
 *   member   = header-block data padding      padded to whole blocks of 512 bytes
 *   header   = name[100] mode[8] uid[8] gid[8] size[12] mtime[12] checksum[8] type[1] link[100] "ustar" NUL "00" … prefix[155]
 *
 * Numbers are octal text; a size beyond it is binary with its first bit set.
 */
const blockBytes = 512;
const nameBytes = 100;
const prefixBytes = 155;
const octalSizeMax = 8 ** 11;

export function tarHeader(name: string, bytes: number, modifiedMs: number): Buffer {
  const block = Buffer.alloc(blockBytes);
  const [prefix, base] = splitName(name);
  block.write(base, 0, "utf8");
  block.write("0000600\0", 100, "latin1");
  block.write("0000000\0", 108, "latin1");
  block.write("0000000\0", 116, "latin1");
  if (bytes < octalSizeMax) block.write(`${bytes.toString(8).padStart(11, "0")}\0`, 124, "latin1");
  else {
    block[124] = 0x80;
    block.writeBigUInt64BE(BigInt(bytes), 128);
  }
  const seconds = Math.max(0, Math.floor(modifiedMs / 1000));
  block.write(`${seconds.toString(8).padStart(11, "0")}\0`, 136, "latin1");
  block.write("0", 156, "latin1");
  block.write("ustar\u000000", 257, "latin1");
  block.write(prefix, 345, "utf8");
  block.write(checksumText(block), 148, "latin1");
  return block;
}

export function tarPadding(bytes: number): Buffer {
  return Buffer.alloc((blockBytes - (bytes % blockBytes)) % blockBytes);
}

export const tarEnd: Buffer = Buffer.alloc(2 * blockBytes);

/** The sum of the block's bytes, those of the checksum itself taken for blanks. */
function checksumText(block: Buffer): string {
  let sum = 0;
  for (let i = 0; i < blockBytes; i++) sum += i >= 148 && i < 156 ? 0x20 : block[i]!;
  return `${sum.toString(8).padStart(6, "0")}\0 `;
}

function splitName(name: string): [string, string] {
  if (Buffer.byteLength(name) <= nameBytes) return ["", name];
  for (let at = name.indexOf("/"); at >= 0; at = name.indexOf("/", at + 1)) {
    const [prefix, base] = [name.slice(0, at), name.slice(at + 1)];
    if (Buffer.byteLength(prefix) <= prefixBytes && Buffer.byteLength(base) <= nameBytes) return [prefix, base];
  }
  throw new Error(`the name ${name} is too long for the archive`);
}

/** The archive is cut short, or is none. */
export class ArchiveError extends Error {}

export interface TarMember {
  readonly name: string;
  readonly bytes: number;
  /** To be read to its end before the next member is asked for. */
  readonly data: AsyncIterable<Uint8Array>;
}

/** The members of an archive, read as its bytes come. */
export async function* readTar(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<TarMember> {
  const source = new ByteSource(pieces);
  for (;;) {
    const block = await source.exactly(blockBytes);
    if (block.every((byte) => byte === 0)) return;
    const text = (from: number, length: number) => block.toString("utf8", from, from + length).split("\0")[0]!;
    if (text(257, 5) !== "ustar" || block.toString("latin1", 148, 156) !== checksumText(block)) {
      throw new ArchiveError("this is no backup, or a damaged one");
    }
    const prefix = text(345, prefixBytes);
    const name = prefix === "" ? text(0, nameBytes) : `${prefix}/${text(0, nameBytes)}`;
    const bytes = block[124]! >= 0x80 ? Number(block.readBigUInt64BE(128)) : Number.parseInt(text(124, 12), 8);
    if (!Number.isSafeInteger(bytes)) throw new ArchiveError(`the size of ${name} can't be read`);
    let left = bytes;
    const data = (async function* () {
      while (left > 0) {
        const piece = await source.some(left);
        left -= piece.length;
        yield piece;
      }
    })();
    yield { name, bytes, data };
    for await (const _ of data);
    if (left > 0) throw new ArchiveError(`${name} was not read to its end`);
    await source.exactly((blockBytes - (bytes % blockBytes)) % blockBytes);
  }
}

/** Bytes by count, from pieces of any size. */
class ByteSource {
  readonly #pieces: AsyncIterator<Uint8Array>;
  #rest: Buffer = Buffer.alloc(0);

  constructor(pieces: AsyncIterable<Uint8Array>) {
    this.#pieces = pieces[Symbol.asyncIterator]();
  }

  /** At most so many, at least one. */
  async some(bytesMax: number): Promise<Buffer> {
    while (this.#rest.length === 0) {
      const { done, value } = await this.#pieces.next();
      if (done) throw new ArchiveError("the archive ends too early");
      this.#rest = Buffer.from(value.buffer, value.byteOffset, value.length);
    }
    const part = this.#rest.subarray(0, bytesMax);
    this.#rest = this.#rest.subarray(part.length);
    return part;
  }

  async exactly(bytes: number): Promise<Buffer> {
    const parts: Buffer[] = [];
    let left = bytes;
    while (left > 0) {
      const part = await this.some(left);
      parts.push(part);
      left -= part.length;
    }
    return parts.length === 1 ? parts[0]! : Buffer.concat(parts);
  }
}
