// The packages that this machine's apt knows (Debian 12 has 63,000): short texts as people write them, many nearly alike.
import { execFileSync } from "node:child_process";
import { type BenchDocument, type Documents, uniform } from "./documents.ts";

interface Package {
  readonly words: readonly string[];
  readonly section: string;
  readonly size: number;
}

function readPackages(): Package[] {
  const text = dumpAvailable();
  return text.split("\n\n").flatMap((entry) => {
    const value = (name: string) => new RegExp(`^${name}: (.*)$`, "m").exec(entry)?.[1];
    const name = value("Package");
    if (name === undefined) return [];
    const words = wordsOf(`${name} ${value("Description") ?? ""}`);
    return [{ words, section: value("Section") ?? "none", size: Number(value("Size") ?? 0) }];
  });
}

function dumpAvailable(): string {
  try {
    return execFileSync("apt-cache", ["dumpavail"], { encoding: "utf8", maxBuffer: 2 ** 30 });
  } catch (cause) {
    throw new Error("--packages needs the lists of apt: run it on Debian, after `apt-get update`", { cause });
  }
}

function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[a-z0-9]+/g) ?? [];
}

/** A direction of its own for each word, the same in every process. */
function directionOf(word: string, dim: number): Float32Array {
  let seed = 0x811c9dc5;
  for (let i = 0; i < word.length; i++) seed = Math.imul(seed ^ word.charCodeAt(i), 0x01000193);
  const next = uniform(seed);
  return Float32Array.from({ length: dim }, () => next() * 2 - 1);
}

/** A document's vector is the sum of its words' directions, rare words more. */
export class PackageDocuments implements Documents {
  readonly dim = 100;
  readonly count: number;
  readonly #packages: Package[];
  readonly #directions = new Map<string, Float32Array>();

  constructor() {
    this.#packages = readPackages();
    this.count = this.#packages.length;
    const frequencies = new Map<string, number>();
    for (const { words } of this.#packages) {
      for (const word of new Set(words)) frequencies.set(word, (frequencies.get(word) ?? 0) + 1);
    }
    for (const [word, frequency] of frequencies) {
      const weight = Math.log(this.count / frequency);
      this.#directions.set(
        word,
        directionOf(word, this.dim).map((value) => value * weight),
      );
    }
  }

  document(id: number): BenchDocument {
    const { words, section, size } = this.#packages[id % this.count]!;
    return { id, text: words.join(" "), tag: section, n: size, vector: this.#vector(words) };
  }

  /** A package with one of its words left out. */
  further(_documents: number, i: number): BenchDocument {
    const id = Math.imul(i, 40_503) % this.count;
    const { words, ...rest } = this.#packages[id < 0 ? id + this.count : id]!;
    const kept = words.length > 1 ? words.toSpliced(i % words.length, 1) : words;
    return { id, text: kept.join(" "), tag: rest.section, n: rest.size, vector: this.#vector(kept) };
  }

  #vector(words: readonly string[]): Float32Array {
    const sum = new Float32Array(this.dim);
    for (const word of words) {
      const direction = this.#directions.get(word)!;
      for (let i = 0; i < sum.length; i++) sum[i]! += direction[i]!;
    }
    return sum;
  }
}
