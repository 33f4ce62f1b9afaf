import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { extname, join } from "node:path";

/** One file of the console, in every form it is sent in. */
export interface Asset {
  readonly type: string;
  readonly etag: string;
  /** Its name changes with its content, so that it never has to be asked for again. */
  readonly immutable: boolean;
  readonly plain: Buffer;
  readonly gzip: Buffer | undefined;
  readonly brotli: Buffer | undefined;
}

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".json": "application/json; charset=utf-8",
};

const hashedName = /-[A-Z0-9]{8}\.\w+$/;

/**
 * The files that `scripts/console.ts` made, by name. All of them are read at once, so that no name of a request ever
 * reaches the file system. Undefined where there is no bundle.
 */
export function loadBundle(folder: string): ReadonlyMap<string, Asset> | undefined {
  const names = new Set(namesIn(folder));
  if (!names.has("index.html")) return undefined;
  const assets = new Map<string, Asset>();
  for (const name of names) {
    const type = types[extname(name)];
    if (type === undefined) continue;
    const plain = readFileSync(join(folder, name));
    const packed = (suffix: string) =>
      names.has(name + suffix) ? readFileSync(join(folder, name + suffix)) : undefined;
    assets.set(name, {
      type,
      etag: etagOf(plain),
      immutable: hashedName.test(name),
      plain,
      gzip: packed(".gz"),
      brotli: packed(".br"),
    });
  }
  return assets;
}

export function etagOf(content: Buffer): string {
  return createHash("sha256").update(content).digest("base64url").slice(0, 22);
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
