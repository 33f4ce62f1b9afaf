import { readFileSync } from "node:fs";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { Client, type NamespaceClient } from "../client/index.ts";
import { parseExactly } from "../client/json.ts";
import { UsageError } from "./command.ts";
import type { Output } from "./output.ts";

type Values = Readonly<Record<string, string | boolean | readonly string[] | undefined>>;

export interface Streams {
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
}

/**
 * Somebody waits for the answer: a server that is down is reported within a second or two. One that asks for patience gets it: a cluster has its next
 * owner after five seconds.
 */
const shortRetry = { attemptsMax: 10, unansweredMax: 4, waitMs: 100, waitMsMax: 1_000 };

/** What a command is run with: its arguments, the server it talks to, and where it writes. */
export class Context {
  readonly args: readonly string[];
  readonly io: Streams;
  readonly out: Output;
  readonly env: NodeJS.ProcessEnv;
  /** Aborted by the first Ctrl-C. */
  readonly signal: AbortSignal;
  readonly #values: Values;
  #client: Client | undefined;

  constructor(init: {
    args: readonly string[];
    values: Values;
    io: Streams;
    out: Output;
    env: NodeJS.ProcessEnv;
    signal: AbortSignal;
  }) {
    this.args = init.args;
    this.io = init.io;
    this.out = init.out;
    this.env = init.env;
    this.signal = init.signal;
    this.#values = init.values;
  }

  get json(): boolean {
    return this.flag("json");
  }

  arg(i: number): string {
    const value = this.args[i];
    if (value === undefined) throw new UsageError("an argument is missing");
    return value;
  }

  flag(name: string): boolean {
    return this.#values[name] === true;
  }

  text(name: string): string | undefined {
    const value = this.#values[name];
    return typeof value === "string" ? value : undefined;
  }

  required(name: string): string {
    const value = this.text(name);
    if (value === undefined) throw new UsageError(`--${name} is missing`);
    return value;
  }

  all(name: string): readonly string[] {
    const value = this.#values[name];
    return Array.isArray(value) ? (value as readonly string[]) : [];
  }

  choice<const C extends string>(name: string, choices: readonly C[], fallback: C): C {
    const value = this.text(name) ?? fallback;
    const found = choices.find((each) => each === value);
    if (found === undefined) throw new UsageError(`--${name} must be one of ${choices.join(", ")}`);
    return found;
  }

  whole(name: string, min = 0, max = Number.MAX_SAFE_INTEGER): number | undefined {
    const value = this.text(name);
    return value === undefined ? undefined : parseWhole(`--${name}`, value, min, max);
  }

  /** JSON that is given in place, or in a file after `@`, or on standard input as `-`. */
  jsonOption(name: string): unknown {
    const value = this.text(name);
    return value === undefined ? undefined : parseJson(`--${name}`, textOrFile(value));
  }

  get url(): string {
    const url = this.text("url") ?? nonEmpty(this.env["SERVICE_URL"]) ?? "http://127.0.0.1:8080";
    if (!/^https?:\/\//.test(url)) throw new UsageError(`the URL ${url} must start with http:// or https://`);
    return url;
  }

  get liveUrl(): string {
    const option = this.text("live-url") ?? nonEmpty(this.env["SERVICE_LIVE_URL"]);
    if (option !== undefined) return option;
    const url = new URL(this.url);
    url.port = "7710";
    return url.origin;
  }

  get client(): Client {
    this.#client ??= this.clientWith({});
    return this.#client;
  }

  clientWith(options: Partial<ConstructorParameters<typeof Client>[0] & object>): Client {
    return new Client({ url: this.url, exactNumbers: true, ...this.connection(), ...options });
  }

  /** What every client of a command has. */
  connection() {
    this.#trust();
    return { apiKey: this.#apiKey(), retry: shortRetry };
  }

  /** Beside the authorities that are trusted anyway. */
  #trust(): void {
    const file = this.text("ca-file") ?? nonEmpty(this.env["SERVICE_CA_FILE"]);
    if (file === undefined) return;
    try {
      setDefaultCACertificates([...getCACertificates("default"), readText(file)]);
    } catch (error) {
      if (error instanceof UsageError) throw error;
      throw new UsageError(`${file} is not a PEM certificate: ${(error as Error).message}`);
    }
  }

  #apiKey(): string | undefined {
    const option = this.text("api-key") ?? nonEmpty(this.env["SERVICE_API_KEY"]);
    if (option !== undefined) return option;
    const file = nonEmpty(this.env["SERVICE_API_KEY_FILE"]);
    return file === undefined ? undefined : readText(file).trim();
  }

  get namespaceName(): string {
    return this.text("namespace") ?? nonEmpty(this.env["SERVICE_NAMESPACE"]) ?? "default";
  }

  get namespace(): NamespaceClient {
    return this.client.namespace(this.namespaceName);
  }
}

function nonEmpty(text: string | undefined): string | undefined {
  return text === "" ? undefined : text;
}

export function parseWhole(what: string, text: string, min = 0, max = Number.MAX_SAFE_INTEGER): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < min || value > max) {
    throw new UsageError(`${what} must be a whole number from ${min} to ${max}`);
  }
  return value;
}

/** Numbers stay as they are written, unless the reader knows doubles alone. */
export function parseJson(what: string, text: string, parse: (text: string) => unknown = parseExactly): unknown {
  try {
    return parse(text);
  } catch (error) {
    throw new UsageError(`${what} is not JSON: ${(error as Error).message}`);
  }
}

/** A text, or `@FILE`, or `-` for standard input. */
export function textOrFile(value: string): string {
  if (value === "-") return readFileSync(0, "utf8");
  return value.startsWith("@") ? readText(value.slice(1)) : value;
}

export function readText(path: string): string {
  try {
    return readFileSync(path === "-" ? 0 : path, "utf8");
  } catch (error) {
    throw new UsageError(`${path} can't be read: ${(error as Error).message}`);
  }
}
