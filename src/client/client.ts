import { NamespaceClient } from "./namespace.ts";
import type { Session } from "./session.ts";
import { type Call, type CallOptions, type ClientOptions, part, Transport } from "./transport.ts";
import type { InstanceInfo, Json, KeyInfo, NamespaceInfo, NewKey } from "./types.ts";

const keysPath = "/v1/instance/keys";

/**
 * A session with one service. Its reads see its own writes, whichever process serves them; the session's token, given
 * to another client, extends that to its reads.
 */
export class Client {
  readonly #transport: Transport;

  constructor(options: ClientOptions | string) {
    this.#transport = new Transport(typeof options === "string" ? { url: options } : options);
  }

  get url(): string {
    return this.#transport.url;
  }

  /** What was written so far; `session.token` and `session.merge` carry it from one client to another. */
  get session(): Session {
    return this.#transport.session;
  }

  namespace(name: string): NamespaceClient {
    return new NamespaceClient(this.#transport, name);
  }

  async namespaces(options: CallOptions = {}): Promise<readonly NamespaceInfo[]> {
    const call = { ...options, method: "GET", path: "/v1/namespaces", repeatable: true, kind: "read" } as const;
    return (await this.#transport.call<{ namespaces: NamespaceInfo[] }>(call)).namespaces;
  }

  createNamespace(name: string, options: CallOptions = {}): Promise<{ readonly id: number }> {
    return this.#transport.call({
      ...options,
      method: "POST",
      path: "/v1/namespaces",
      body: { name },
      repeatable: false,
      kind: "write",
    });
  }

  /** The API keys that were created, ended ones too, for admins of the instance. */
  async keys(options: CallOptions = {}): Promise<readonly KeyInfo[]> {
    const call = { ...options, method: "GET", path: keysPath, repeatable: true, kind: "read" } as const;
    return (await this.#transport.call<{ keys: KeyInfo[] }>(call)).keys;
  }

  /** The answer has the key itself, which is shown only once. */
  createKey(key: NewKey, options: CallOptions = {}): Promise<KeyInfo & { readonly key: string }> {
    return this.#transport.call({
      ...options,
      method: "POST",
      path: keysPath,
      body: key,
      repeatable: false,
      kind: "write",
    });
  }

  revokeKey(name: string, options: CallOptions = {}): Promise<KeyInfo> {
    const path = `${keysPath}/${part(name)}`;
    return this.#transport.call({ ...options, method: "DELETE", path, repeatable: false, kind: "write" });
  }

  /** Resolves while the process is up. Asked once, without retries: the answer is about now. */
  async health(options: CallOptions = {}): Promise<void> {
    await this.#probe("/health", options);
  }

  /** Resolves when the server takes work. */
  async ready(options: CallOptions = {}): Promise<void> {
    await this.#probe("/ready", options);
  }

  instance(options: CallOptions = {}): Promise<InstanceInfo> {
    return this.#rpc("service.instance.v1.InstanceService/GetInstance", options);
  }

  /** Who the service takes the caller for. */
  whoAmI(options: CallOptions = {}): Promise<Json> {
    return this.#rpc("service.instance.v1.InstanceService/WhoAmI", options);
  }

  /** A request that the client has no method for; the path starts with `/`. */
  request<T>(call: Call): Promise<T> {
    return this.#transport.call(call);
  }

  /** An answer that is read as a stream; sent once. */
  stream(call: Call): Promise<Response> {
    const body = call.body === undefined ? undefined : JSON.stringify(call.body);
    return this.#transport.send(call, body, call.signal);
  }

  async #probe(path: string, options: CallOptions): Promise<void> {
    const call = { ...options, method: "GET", path, repeatable: false, kind: "read" } as const;
    await this.#transport.once(call, undefined, (response) => response.text());
  }

  #rpc<T>(path: string, options: CallOptions): Promise<T> {
    return this.#transport.call({
      ...options,
      method: "POST",
      path: `/${path}`,
      body: {},
      repeatable: true,
      kind: "read",
    });
  }
}
