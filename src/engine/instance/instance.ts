import { createHash, X509Certificate } from "node:crypto";
import type { Clock } from "../../port/clock.ts";
import type { Random } from "../../port/random.ts";
import { type PackageStatus, type Port, packageStatuses } from "./catalogue.ts";
import { openIdentity } from "./identity.ts";
import type { InstanceSettings, PushSettings } from "./settings.ts";
import { readSetup, type Setup } from "./setup.ts";
import { type KeySet, SigningKeys } from "./signing-keys.ts";
import type { InstanceStore } from "./store.ts";

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

export type AuthMode = "off" | "apikey" | "oidc" | "mesh";

export interface SignInMethod {
  readonly kind: "none" | "identity_provider" | "identity_provider_device_code" | "pairing";
  readonly displayName: string;
}

export interface InstanceConfig {
  readonly settings: InstanceSettings;
  /** Semantic version of the server. */
  readonly version: string;
  readonly authModes: readonly AuthMode[];
  /** The token authority, where there is one. */
  readonly issuer?: string;
  /** What is switched on. */
  readonly features: Readonly<Record<string, boolean>>;
  /** Whether the house package is proxied. */
  readonly house: boolean;
  /** The listener's certificates when they come from a private authority. */
  readonly privateTls?: () => TlsCertificates | undefined;
}

export interface InstanceDeps extends InstanceConfig {
  readonly store: InstanceStore;
  readonly clock: Clock;
  readonly random: Random;
}

export interface InstanceDescription {
  readonly instanceId: string;
  readonly name: string;
  readonly version: string;
  readonly apiVersions: readonly string[];
  readonly features: Readonly<Record<string, boolean>>;
  readonly issuer: string;
  readonly signInMethods: readonly SignInMethod[];
  readonly tlsPins: string;
  readonly push: PushSettings | undefined;
  readonly minAppVersions: Readonly<Record<string, string>>;
  readonly setupRequired: boolean;
  readonly keyRotation: string;
  readonly services: readonly PackageStatus[];
}

/** An API key is handed over out of band and has no sign-in of its own: the feature flags announce it. */
function signInMethods({ authModes, issuer }: InstanceConfig): SignInMethod[] {
  const methods: SignInMethod[] = [];
  for (const mode of authModes) {
    if (mode === "off") methods.push({ kind: "none", displayName: "No sign-in" });
    if (mode === "mesh") methods.push({ kind: "none", displayName: "Mesh network identity" });
    if (mode === "oidc") {
      const host = issuer !== undefined && URL.canParse(issuer) ? new URL(issuer).host : "Identity provider";
      methods.push({ kind: "identity_provider", displayName: host });
    }
  }
  return methods;
}

/** What the service is to a client that meets it for the first time. */
export class Instance {
  readonly id: string;
  readonly #deps: InstanceDeps;
  readonly #keys: SigningKeys;
  readonly #withdrawn = new Set<string>();
  /** Signing costs more than all the rest: pins are signed again only when a certificate or the key changes. */
  #pins: { readonly subject: string; readonly jws: Promise<string> } | undefined;

  private constructor(id: string, deps: InstanceDeps, keys: SigningKeys) {
    this.id = id;
    this.#deps = deps;
    this.#keys = keys;
  }

  static async open(deps: InstanceDeps): Promise<Instance> {
    const id = await openIdentity(deps.store, deps.clock, deps.random);
    return new Instance(id, deps, await SigningKeys.open(deps.store, deps.clock));
  }

  /** A feature of the settings that could not be had. */
  withdraw(feature: string): void {
    this.#withdrawn.add(feature);
  }

  /** The key set behind `jwksUri`. */
  get keySet(): KeySet {
    return this.#keys.keySet;
  }

  /** Read on every call: the command line may set up the data directory of a running server. */
  get setup(): Setup | undefined {
    return readSetup(this.#deps.store);
  }

  /** As one port describes it: each serves its own packages. */
  async describe(port: Port = "native"): Promise<InstanceDescription> {
    const services = packageStatuses(this.#deps.house, port);
    const { settings, version, features, issuer = "" } = this.#deps;
    return {
      instanceId: this.id,
      name: settings.name,
      version,
      apiVersions: services.filter((status) => status.available).map((status) => status.package),
      features: Object.fromEntries(
        Object.entries(features).map(([name, isOn]) => [name, isOn && !this.#withdrawn.has(name)]),
      ),
      issuer,
      signInMethods: signInMethods(this.#deps),
      tlsPins: await this.#tlsPins(),
      push: settings.push,
      minAppVersions: settings.minAppVersions,
      setupRequired: this.setup === undefined,
      keyRotation: this.#keys.rotationProof ?? "",
      services,
    };
  }

  async #tlsPins(): Promise<string> {
    const certificates = this.#deps.privateTls?.();
    if (certificates === undefined) return "";
    const subject = [this.#keys.currentKeyId, certificates.current, certificates.next ?? ""].join("\n");
    if (this.#pins?.subject !== subject) {
      const jws = this.#keys.sign("tls-pins", {
        iss: this.id,
        iat: Math.floor(this.#deps.clock.nowMs() / 1000),
        current: [spkiHash(certificates.current)],
        next: certificates.next === undefined ? [] : [spkiHash(certificates.next)],
      });
      this.#pins = { subject, jws };
    }
    return await this.#pins.jws;
  }
}
