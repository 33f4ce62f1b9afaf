import { createHash, X509Certificate } from "node:crypto";

/** PEM certificates of the listener: the one in use and, where known, the one that will follow it. */
export interface TlsCertificates {
  readonly current: string;
  readonly next?: string;
}

/** Base64 SHA-256 of the certificate's SubjectPublicKeyInfo: survives a renewal that keeps the key. */
export function spkiHash(pem: string): string {
  const spki = new X509Certificate(pem).publicKey.export({ type: "spki", format: "der" });
  return createHash("sha256").update(spki).digest("base64");
}
