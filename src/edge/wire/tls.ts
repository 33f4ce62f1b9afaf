import { createSecureContext, type SecureContext } from "node:tls";
import type { CertificatePair } from "../../listener/certificate.ts";

/** The TLS context of the listener's certificate, made anew when that was reloaded. */
export class WireTls {
  readonly #pair: () => CertificatePair | undefined;
  #latest: { readonly pair: CertificatePair; readonly context: SecureContext } | undefined;

  constructor(pair: () => CertificatePair | undefined) {
    this.#pair = pair;
  }

  /** Undefined where the server has no certificate. */
  get context(): SecureContext | undefined {
    const pair = this.#pair();
    if (pair === undefined) return undefined;
    if (this.#latest?.pair !== pair) {
      this.#latest = { pair, context: createSecureContext({ ...pair, minVersion: "TLSv1.2" }) };
    }
    return this.#latest.context;
  }
}
