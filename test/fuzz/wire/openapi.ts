import { Agent, request as httpRequest } from "node:http";
import { type ClientHttp2Session, connect as connectHttp2 } from "node:http2";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import fc from "fast-check";
import { reasons } from "../../../src/engine/errors.ts";
import type { Dice } from "../../sim/dice.ts";
import { Finding, must, type OpenTarget, type Target } from "../target.ts";
import { anyJson, type JsonSchema, nearly, valid } from "./json-schema.ts";
import { type FuzzServer, secret, serverLimits } from "./server.ts";

interface Parameter {
  readonly in: "path" | "query" | "header";
  readonly name: string;
  readonly required?: boolean;
  readonly schema: JsonSchema;
}

type Content = Readonly<Record<string, { readonly schema?: JsonSchema }>>;

interface Operation {
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>;
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

interface Door {
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
}

/** A request as it is sent, and as a file of a finding holds it. */
interface Asked {
  readonly door: number;
  readonly method: string;
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  readonly isHttp2: boolean;
}

interface Answered {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

const requestsAtOnce = 16;

/** Names that are there, and names that come and go: only those are dropped. */
const lasting: Readonly<Record<string, readonly string[]>> = {
  ns: ["fuzz"],
  stream: ["events", "silent"],
  c: ["items", "kinds", "nothing", "goods"],
  link: ["counts"],
  partition: ["0", "1", "2"],
  id: ["1", "2", "30"],
  page: ["api", "sql", "streams"],
};
const passing = ["s1", "s2", "s3", "A.b-c_d"];
const statements = [
  "select * from items limit 3",
  "select 1 +",
  "select * from rrf(text_search(items, 'red', note, 3))",
];
const contentTypes = [
  "application/json",
  "application/json; charset=utf-8",
  "application/json; charset=latin1",
  "application/cloudevents+json",
  "application/cloudevents-batch+json",
  "text/plain",
  "application/x-www-form-urlencoded",
  "multipart/form-data; boundary=x",
  "application/json, text/plain",
  ";",
];
const extraHeaders: readonly (readonly [string, string])[] = [
  ["content-encoding", "gzip"],
  ["content-encoding", "identity"],
  ["accept", "text/event-stream"],
  ["accept", "application/xml"],
  ["accept-encoding", "gzip"],
  ["x-request-id", "given-1"],
  ["x-request-id", "x".repeat(300)],
  ["last-event-id", "-1"],
  ["last-event-id", "3"],
  ["service-consistency-token", '[{"stream":1,"partition":0,"offset":0}]'],
  ["service-consistency-token", "[{}]"],
  ["service-consistency-token", "not json"],
  ["idempotency-key", "k1"],
  ["idempotency-key", ""],
  ["idempotency-key", "\u00e9"],
  ["authorization", `Bearer ${secret}`],
  ["authorization", "Basic x"],
  ["expect", "100-continue"],
  ["range", "bytes=0-1"],
  ["if-none-match", "*"],
  ["origin", "http://elsewhere.example"],
  ["ce-id", "1"],
  ["ce-specversion", "1.0"],
  ["ce-source", "/s"],
  ["ce-type", "t"],
  ["ce-time", "yesterday"],
];

class Maker {
  readonly #doors: readonly Door[];

  constructor(doors: readonly Door[]) {
    this.#doors = doors;
  }

  make(dice: Dice): Asked {
    const at = dice.below(this.#doors.length);
    const { method, path, operation } = this.#doors[at]!;
    const sample = <T>(arbitrary: fc.Arbitrary<T>): T =>
      fc.sample(arbitrary, { numRuns: 1, seed: dice.below(2 ** 31) })[0]!;
    const parameters = operation.parameters ?? [];
    let target = path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
      this.#segment(name, method, parameters, dice, sample),
    );
    const query = this.#query(parameters, dice, sample);
    if (query !== "") target += `?${query}`;
    const headers = this.#headers(parameters, dice, sample);
    const body = this.#body(operation, path, headers, dice, sample);
    // Waits are for others to try: here one would hold up all.
    const usual = dice.chance(0.97) ? method : dice.pick(["put", "patch", "options", "head", "trace", "delete"]);
    const safe = usual === "delete" && method !== "delete" ? "put" : usual;
    return { door: at, method: safe.toUpperCase(), target, headers, body, isHttp2: dice.chance(0.3) };
  }

  #segment(
    name: string,
    method: string,
    parameters: readonly Parameter[],
    dice: Dice,
    sample: <T>(arbitrary: fc.Arbitrary<T>) => T,
  ): string {
    const lasts = lasting[name] ?? [];
    const isWhole = name === "ns" || name === "partition" || name === "id";
    const mayBeGone = method === "delete" && !(isWhole && dice.chance(0.9));
    if (dice.chance(0.75))
      return dice.pick(mayBeGone ? passing : dice.chance(0.8) ? lasts : [...lasts, ...passing]) ?? "x";
    const schema = parameters.find((each) => each.in === "path" && each.name === name)?.schema ?? {};
    const value = sample(dice.chance(0.5) ? valid(schema) : anyJson);
    const text = encode(typeof value === "string" ? value : JSON.stringify(value));
    // A name that lasts must not be dropped by chance.
    return mayBeGone && lasts.includes(text) ? "s1" : text === "" ? "%20" : text;
  }

  #query(parameters: readonly Parameter[], dice: Dice, sample: <T>(arbitrary: fc.Arbitrary<T>) => T): string {
    const pairs: string[] = [];
    for (const { in: where, name, schema, required } of parameters) {
      if (where !== "query" || !dice.chance(required === true ? 0.9 : 0.4)) continue;
      const value =
        name === "max_wait_ms" ? dice.pick([0, 1, -1, "x", ""]) : sample(dice.chance(0.7) ? valid(schema) : anyJson);
      const text = encode(typeof value === "string" ? value : JSON.stringify(value));
      pairs.push(`${name}=${text}`);
      if (dice.chance(0.03)) pairs.push(`${name}=${text}`);
    }
    if (dice.chance(0.03)) pairs.push(dice.pick(["offset=%", "x", "offset=%ff", "=", "__proto__=1", "ofset=1"]));
    return pairs.join("&");
  }

  #headers(
    parameters: readonly Parameter[],
    dice: Dice,
    sample: <T>(arbitrary: fc.Arbitrary<T>) => T,
  ): Record<string, string> {
    const headers: Record<string, string> = {};
    for (const { in: where, name, schema } of parameters) {
      if (where !== "header" || !dice.chance(0.1)) continue;
      const text = String(sample(valid(schema)))
        .replaceAll(/[^\x20-\x7e]/g, "?")
        .slice(0, 2_000);
      headers[name] = text;
    }
    while (dice.chance(0.15)) {
      const [name, value] = dice.pick(extraHeaders);
      headers[name] = value;
    }
    return headers;
  }

  #body(
    { requestBody }: Operation,
    path: string,
    headers: Record<string, string>,
    dice: Dice,
    sample: <T>(arbitrary: fc.Arbitrary<T>) => T,
  ): string | null {
    const schema = requestBody?.content["application/json"]?.schema;
    const isEvents = path.endsWith("/events");
    if (schema === undefined && !dice.chance(isEvents ? 0.9 : 0.1)) return null;
    const type = dice.chance(0.93)
      ? isEvents
        ? dice.pick(contentTypes.slice(3, 5))
        : contentTypes[0]!
      : dice.pick(contentTypes);
    if (dice.chance(0.98)) headers["content-type"] = type;
    const given = isEvents ? eventSchema : (schema ?? {});
    const value =
      path.endsWith("/sql") && dice.chance(0.5)
        ? { query: dice.pick(statements) }
        : sample(dice.chance(0.5) ? valid(given) : dice.chance(0.8) ? nearly(given) : anyJson);
    const whole = isEvents && type.includes("batch") ? [value, value] : value;
    const text = JSON.stringify(whole) ?? "null";
    if (dice.chance(0.03)) return text.slice(0, dice.below(text.length + 1));
    return dice.chance(0.02) ? `${text}\u0000` : text;
  }
}

const eventSchema: JsonSchema = {
  type: "object",
  properties: {
    specversion: { enum: ["1.0", "0.3"] },
    id: { type: "string", pattern: "^[a-z0-9]{1,4}$" },
    source: { enum: ["/s", "urn:x:1", "not a uri"] },
    type: { enum: ["t", "org.example.made"] },
    time: { enum: ["2024-01-01T00:00:00Z", "2024-13-01T00:00:00Z"] },
    datacontenttype: { enum: ["application/json", "text/plain", "nonsense"] },
    partitionkey: { type: "string", pattern: "^[a-z]{1,3}$" },
    data: {},
  },
  required: ["specversion", "id", "source", "type"],
};

/** Only what a URL may hold; a lone surrogate has no encoding. */
function encode(text: string): string {
  return encodeURIComponent(text.toWellFormed()).slice(0, 3_000);
}

class Sender {
  readonly #server: FuzzServer;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: requestsAtOnce });
  #session: ClientHttp2Session | undefined;

  constructor(server: FuzzServer) {
    this.#server = server;
  }

  send(asked: Asked): Promise<Answered> {
    return asked.isHttp2 ? this.#overHttp2(asked) : this.#overHttp1(asked);
  }

  close(): void {
    this.#agent.destroy();
    this.#session?.destroy();
  }

  #overHttp1({ method, target, headers, body }: Asked): Promise<Answered> {
    return new Promise((resolve, reject) => {
      const signal = AbortSignal.timeout(serverLimits.answerMs);
      const length = body === null ? {} : { "content-length": String(Buffer.byteLength(body)) };
      const sent = httpRequest(
        {
          host: "127.0.0.1",
          port: this.#server.port,
          method,
          path: target,
          headers: { ...headers, ...length },
          agent: this.#agent,
          signal,
        },
        (response) => {
          const chunks: Buffer[] = [];
          const done = () => {
            resolve({
              status: response.statusCode!,
              headers: response.headers,
              text: Buffer.concat(chunks).toString(),
            });
          };
          response.on("data", (chunk: Buffer) => {
            chunks.push(chunk);
            if (endless(response.headers["content-type"])) {
              done();
              response.destroy();
            }
          });
          response.on("end", done);
          response.on("error", reject);
          if (endless(response.headers["content-type"])) {
            done();
            response.destroy();
          }
        },
      );
      sent.on("error", reject);
      sent.end(body ?? undefined);
    });
  }

  #overHttp2({ method, target, headers, body }: Asked): Promise<Answered> {
    if (this.#session === undefined || this.#session.destroyed || this.#session.closed) {
      this.#session = connectHttp2(this.#server.url);
      this.#session.on("error", () => {});
    }
    const session = this.#session;
    return new Promise((resolve, reject) => {
      const { expect: _, ...sent } = headers;
      const stream = session.request({ ":method": method, ":path": target, ...sent }, { endStream: body === null });
      const timer = setTimeout(() => {
        stream.close();
        reject(new Finding("no answer over HTTP/2"));
      }, serverLimits.answerMs);
      const chunks: Buffer[] = [];
      let received: Answered["headers"] & { ":status"?: number } = {};
      const done = () => {
        clearTimeout(timer);
        resolve({
          status: Number(received[":status"] ?? 0),
          headers: received,
          text: Buffer.concat(chunks).toString(),
        });
      };
      stream.on("response", (given) => {
        received = given as typeof received;
        if (!endless(given["content-type"])) return;
        done();
        stream.close();
      });
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("end", done);
      stream.on("error", (error) => {
        clearTimeout(timer);
        reject(error);
      });
      if (body !== null) stream.end(body);
    });
  }
}

function endless(contentType: string | undefined): boolean {
  return contentType?.startsWith("text/event-stream") ?? false;
}

const errorWords: ReadonlySet<string> = new Set(Object.values(reasons).map(({ rest }) => rest));

class Checker {
  readonly #doors: readonly Door[];
  readonly #ajv = new Ajv2020({ strict: false, validateFormats: false });
  readonly #compiled = new Map<JsonSchema, ValidateFunction>();

  constructor(doors: readonly Door[]) {
    this.#doors = doors;
  }

  check(asked: Asked, answered: Answered): void {
    const { status, headers, text } = answered;
    const told = () => ({ status, headers, text: text.slice(0, 2_000) });
    must(status !== 500 && (status < 500 || status === 503 || status === 501), "an error of ours", told);
    must(typeof headers["x-request-id"] === "string", "an answer without its X-Request-Id", told);
    must(!text.includes(secret), "an answer tells a secret", told);
    must(!/\bat [\w.<> ]+ \(?(?:file|node):/.test(text), "an answer tells a stack", told);
    if (asked.method === "HEAD") return;
    if (status >= 400) this.#checkError(answered, told);
    const { method, operation } = this.#doors[asked.door]!;
    if (method.toUpperCase() === asked.method) this.#checkDocumented(operation, answered, told);
  }

  #checkError({ status, headers, text }: Answered, told: () => unknown): void {
    must(String(headers["content-type"]).startsWith("application/json"), "an error that is no JSON", told);
    const body = JSON.parse(text) as Readonly<Record<string, unknown>>;
    must(typeof body["error"] === "string" && errorWords.has(body["error"]), "an error of no known kind", told);
    const { message, field } = body;
    must(typeof message === "string" && message !== "" && message.length < 4_000, "an error without a message", told);
    if (status === 400 || status === 415 || status === 413) {
      must(typeof field === "string" && field !== "", "bad input whose field is not named", told);
      must(message.includes(field.slice(0, 50)), "bad input whose message does not name the field", told);
    }
    must(!/, *$|one of *$/.test(message), "a message that ends in the middle of a list", told);
    if (status === 503 || status === 429) must(headers["retry-after"] !== undefined, "no Retry-After", told);
  }

  #checkDocumented({ responses }: Operation, { status, headers, text }: Answered, told: () => unknown): void {
    const documented = responses[String(status)] ?? responses[`${Math.floor(status / 100)}XX`];
    must(documented !== undefined, "a status that is not documented", told);
    if (documented.content === undefined || status === 204) {
      must(text === "", "a body that is not documented", told);
      return;
    }
    const essence = String(headers["content-type"]).split(";")[0]!.trim();
    const content = documented.content[essence] ?? documented.content["*/*"];
    must(content !== undefined, "a content type that is not documented", told);
    if (content.schema === undefined || !essence.endsWith("json")) return;
    const validate = this.#validate(content.schema);
    must(validate(JSON.parse(text)), "a body that its schema refuses", () => [validate.errors, told()]);
  }

  #validate(schema: JsonSchema): ValidateFunction {
    const known = this.#compiled.get(schema) ?? this.#ajv.compile(schema);
    this.#compiled.set(schema, known);
    return known;
  }
}

/** Every route of the API's own description, with what it asks for, nearly that, and anything else. */
export const openapi: Target = {
  name: "openapi",
  open: async (context): Promise<OpenTarget> => {
    const server = await context.server();
    const document = (await (await fetch(`${server.url}/openapi.json`)).json()) as Document;
    const doors = Object.entries(document.paths).flatMap(([path, operations]) =>
      Object.entries(operations).map(([method, operation]) => ({ method, path, operation })),
    );
    const maker = new Maker(doors);
    const sender = new Sender(server);
    const checker = new Checker(doors);
    return {
      inputs: { kind: "made", lanes: requestsAtOnce, make: (dice) => Buffer.from(JSON.stringify(maker.make(dice))) },
      run: async (input) => {
        const asked = JSON.parse(input.toString()) as Asked;
        checker.check(asked, await sender.send(asked));
        server.checkLogs();
      },
      check: () => server.check(),
      [Symbol.asyncDispose]: async () => sender.close(),
    };
  },
};
