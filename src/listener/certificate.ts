import { X509Certificate } from "node:crypto";
import type { BigIntStats } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { createSecureContext, rootCertificates, type Server } from "node:tls";
import { invalid } from "../engine/errors.ts";
import type { ListenerLog } from "./registry.ts";

export interface CertificateFiles {
  readonly certFile: string;
  readonly keyFile: string;
  /** The certificate that will follow; it may be absent. It is only announced to clients, never served. */
  readonly nextCertFile?: string | undefined;
}

/** PEM certificates: the one in use and, where known, the one that will follow it. */
export interface ServedCertificates {
  readonly current: string;
  readonly next?: string;
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
  #pair: CertificatePair;
  #next: string | undefined;

  private constructor(
    files: CertificateFiles,
    log: ListenerLog,
    seen: string,
    pair: CertificatePair,
    next: string | undefined,
  ) {
    this.#files = files;
    this.#log = log;
    this.#seen = seen;
    this.#pair = pair;
    this.#next = next;
  }

  static async open(files: CertificateFiles, log: ListenerLog): Promise<Certificate> {
    const seen = await fingerprint(files);
    return new Certificate(files, log, seen, await readPair(files), await readNext(files));
  }

  get pair(): CertificatePair {
    return this.#pair;
  }

  get served(): ServedCertificates {
    const current = this.#pair.cert.toString("latin1");
    return this.#next === undefined ? { current } : { current, next: this.#next };
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
      const [pair, next] = [await readPair(this.#files), await readNext(this.#files)];
      server.setSecureContext({ ...pair, minVersion: "TLSv1.2" });
      this.#pair = pair;
      this.#next = next;
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
    parts.push(versionOf(found));
  }
  const next = files.nextCertFile && (await stat(files.nextCertFile, { bigint: true }).catch(() => undefined));
  return [...parts, next === undefined || next === "" ? "none" : versionOf(next)].join(" ");
}

function versionOf({ dev, ino, size, mtimeNs }: BigIntStats): string {
  return `${dev}:${ino}:${size}:${mtimeNs}`;
}

async function readNext({ nextCertFile: path }: CertificateFiles): Promise<string | undefined> {
  if (path === undefined) return undefined;
  const text = await readFile(path, "latin1").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw invalid("tls-next-cert-file", `cannot read ${path}: ${error.message}`);
  });
  if (text === undefined) return undefined;
  try {
    new X509Certificate(text);
  } catch (error) {
    throw invalid("tls-next-cert-file", `${path} holds no PEM certificate: ${(error as Error).message}`);
  }
  return text;
}

const certificateBlock = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** Whether no public authority stands at the end of the chain, so that clients know the certificate by its key alone. */
export function isPrivate(chain: string): boolean {
  const last = new X509Certificate(chain.match(certificateBlock)?.at(-1) ?? chain);
  return !rootCertificates.some((pem) => {
    const root = new X509Certificate(pem);
    return root.subject === last.issuer && last.verify(root.publicKey);
  });
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
    throw invalid("tls-cert-file", `${files.certFile} holds no PEM certificate: ${(error as Error).message}`);
  }
  try {
    createSecureContext(pair);
  } catch (error) {
    throw invalid("tls-key-file", `${files.keyFile} does not fit ${files.certFile}: ${(error as Error).message}`);
  }
  return pair;
}

function fieldsOf(files: CertificateFiles): readonly (readonly [string, string])[] {
  return [
    ["tls-cert-file", files.certFile],
    ["tls-key-file", files.keyFile],
  ];
}
