import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT } from "jose";
import type { Clock } from "../../src/port/clock.ts";

interface SigningKey {
  readonly kid: string;
  readonly alg: string;
  readonly privateKey: CryptoKey;
  readonly publicJwk: JWK;
}

/** Making an RSA key takes a while, so every provider starts with the same one. */
let firstKey: Promise<SigningKey> | undefined;

export interface TokenOptions {
  readonly claims?: JWTPayload;
  /** Claims to leave out. */
  readonly without?: readonly string[];
  readonly key?: SigningKey;
  readonly kid?: string | undefined;
  readonly lifetimeSeconds?: number;
}

/** A real OpenID Connect provider, as far as a resource server sees one: discovery and a key set over HTTP. */
export class IdentityProvider {
  readonly #server: Server;
  readonly #clock: Clock;
  keys: SigningKey[] = [];
  /** What happens to requests: answered, cut off, or refused with a status. */
  state: "up" | "down" | "failing" = "up";
  /** Overrides parts of the discovery document. */
  discovery: Record<string, unknown> = {};
  requests = 0;
  audience = "native-engine";

  private constructor(clock: Clock) {
    this.#clock = clock;
    this.#server = createServer((request, response) => {
      this.requests += 1;
      if (this.state === "down") request.socket.destroy();
      else if (this.state === "failing") response.writeHead(500).end();
      else this.#answer(request.url ?? "", response);
    });
  }

  static async start(clock: Clock): Promise<IdentityProvider> {
    const provider = new IdentityProvider(clock);
    firstKey ??= newSigningKey("RS256", "first");
    provider.keys.push(await firstKey);
    provider.#server.listen(0, "127.0.0.1");
    await once(provider.#server, "listening");
    return provider;
  }

  get issuer(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/realm`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }

  /** A token of a user; valid unless the options make it otherwise. */
  async token({ claims = {}, without = [], lifetimeSeconds = 300, ...options }: TokenOptions = {}): Promise<string> {
    const key = options.key ?? this.keys[0]!;
    const now = Math.floor(this.#clock.nowMs() / 1000);
    const payload: JWTPayload = {
      iss: this.issuer,
      aud: this.audience,
      sub: "user-1",
      iat: now,
      exp: now + lifetimeSeconds,
      name: "Ada Example",
      email: "ada@example.com",
      ...claims,
    };
    for (const name of without) delete payload[name];
    const kid = "kid" in options ? options.kid : key.kid;
    return new SignJWT(payload)
      .setProtectedHeader({ alg: key.alg, ...(kid === undefined ? {} : { kid }) })
      .sign(key.privateKey);
  }

  #answer(path: string, response: ServerResponse): void {
    const json = (body: unknown) =>
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
    if (path === "/realm/.well-known/openid-configuration") {
      json({ issuer: this.issuer, jwks_uri: `${this.issuer}/keys`, ...this.discovery });
    } else if (path === "/realm/keys") {
      json({ keys: this.keys.map((key) => key.publicJwk) });
    } else response.writeHead(404).end();
  }
}

export async function newSigningKey(alg: string, kid: string): Promise<SigningKey> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  const publicJwk = await exportJWK(publicKey);
  return { kid, alg, privateKey, publicJwk: { ...publicJwk, kid, alg, use: "sig" } };
}
