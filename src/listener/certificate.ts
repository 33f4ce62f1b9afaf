import { X509Certificate } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { createSecureContext, type Server } from "node:tls";
import { invalid } from "../engine/errors.ts";
import type { ListenerLog } from "./registry.ts";

export interface CertificateFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

export interface CertificatePair {
  readonly cert: Buffer;
  readonly key: Buffer;
}

/**
 * A certificate and its key on disk, read again when they change. The files are looked at and not watched: a renewal
 * by rename, by a changed link in the path or on a network file system raises no reliable event.
 */
export class Certificate {
  readonly #files: CertificateFiles;
  readonly #log: ListenerLog;
  #seen: string;
  readonly pair: CertificatePair;

  private constructor(files: CertificateFiles, log: ListenerLog, seen: string, pair: CertificatePair) {
    this.#files = files;
    this.#log = log;
    this.#seen = seen;
    this.pair = pair;
  }

  static async open(files: CertificateFiles, log: ListenerLog): Promise<Certificate> {
    const seen = await fingerprint(files);
    return new Certificate(files, log, seen, await readPair(files));
  }

  /** Gives the server the new pair if there is one. A bad one is logged once, and the old one stays. */
  async refresh(server: Server): Promise<void> {
    let seen: string;
    try {
      seen = await fingerprint(this.#files);
    } catch (error) {
      seen = `missing: ${String(error)}`;
    }
    if (seen === this.#seen) return;
    // Remembered before it is read: a file that changes during the read is read again at the next look.
    this.#seen = seen;
    try {
      const pair = await readPair(this.#files);
      server.setSecureContext({ ...pair, minVersion: "TLSv1.2" });
      this.#log.info({ ...this.#files, validTo: new X509Certificate(pair.cert).validTo }, "certificate reloaded");
    } catch (error) {
      this.#log.error({ err: error, ...this.#files }, "certificate not reloaded; the old one stays in use");
    }
  }
}

async function fingerprint(files: CertificateFiles): Promise<string> {
  const parts: string[] = [];
  for (const [field, path] of fieldsOf(files)) {
    const found = await stat(path, { bigint: true }).catch((error: Error) => {
      throw invalid(field, `cannot read ${path}: ${error.message}`);
    });
    parts.push(`${found.dev}:${found.ino}:${found.size}:${found.mtimeNs}`);
  }
  return parts.join(" ");
}

async function readPair(files: CertificateFiles): Promise<CertificatePair> {
  const [cert, key] = await Promise.all(
    fieldsOf(files).map(([field, path]) =>
      readFile(path).catch((error: Error) => {
        throw invalid(field, `cannot read ${path}: ${error.message}`);
      }),
    ),
  );
  const pair = { cert: cert!, key: key! };
  try {
    new X509Certificate(pair.cert);
  } catch (error) {
    throw invalid("tls.certFile", `${files.certFile} holds no PEM certificate: ${(error as Error).message}`);
  }
  try {
    createSecureContext(pair);
  } catch (error) {
    throw invalid("tls.keyFile", `${files.keyFile} does not fit ${files.certFile}: ${(error as Error).message}`);
  }
  return pair;
}

function fieldsOf(files: CertificateFiles): readonly (readonly [string, string])[] {
  return [
    ["tls.certFile", files.certFile],
    ["tls.keyFile", files.keyFile],
  ];
}
