import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { MessageReader } from "../../../src/edge/postgres/message/reader.ts";

export interface Heard {
  readonly type: string;
  readonly body: Buffer;
}

/** A client below the drivers: it says whatever it is told and takes apart what it hears. */
export class RawPostgres {
  readonly socket: Socket;
  readonly heard: Heard[] = [];
  #left = Buffer.alloc(0);
  #wake: (() => void) | undefined;

  constructor(address: { readonly host: string; readonly port: number }) {
    this.socket = connect(address);
    this.socket.on("data", (chunk) => {
      this.#take(chunk);
      this.#wake?.();
    });
    this.socket.on("close", () => this.#wake?.());
    // A reset is one of the ways to be cut off.
    this.socket.on("error", () => {});
  }

  static async signedIn(address: { host: string; port: number }, database: string): Promise<RawPostgres> {
    const client = new RawPostgres(address).send(startup({ user: "raw", database }));
    await client.until("Z");
    return client;
  }

  send(...parts: Uint8Array[]): this {
    this.socket.write(Buffer.concat(parts));
    return this;
  }

  /** All that was heard up to the next message of this type. */
  async until(type: string): Promise<Heard[]> {
    for (;;) {
      const at = this.heard.findIndex((message) => message.type === type);
      if (at !== -1) return this.heard.splice(0, at + 1);
      if (this.socket.destroyed) throw new Error(`closed before ${type}: ${this.types}`);
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  get types(): string {
    return this.heard.map(({ type }) => type).join("");
  }

  async closed(): Promise<this> {
    if (!this.socket.destroyed) await once(this.socket, "close");
    return this;
  }

  #take(chunk: Buffer): void {
    this.#left = Buffer.concat([this.#left, chunk]);
    while (this.#left.length >= 5 && this.#left.length > this.#left.readInt32BE(1)) {
      const length = this.#left.readInt32BE(1) + 1;
      this.heard.push({ type: String.fromCharCode(this.#left[0]!), body: this.#left.subarray(5, length) });
      this.#left = this.#left.subarray(length);
    }
  }
}

export function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

export function int16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeInt16BE(value);
  return bytes;
}

export function text(value: string): Buffer {
  return Buffer.from(`${value}\0`);
}

export function message(type: string, ...parts: Uint8Array[]): Buffer {
  const body = Buffer.concat(parts);
  return Buffer.concat([Buffer.from(type), int32(body.length + 4), body]);
}

export function startup(parameters: Readonly<Record<string, string>>, version = 3 << 16): Buffer {
  const pairs = Object.entries(parameters).flatMap(([name, value]) => [text(name), text(value)]);
  const body = Buffer.concat([int32(version), ...pairs, Buffer.from([0])]);
  return Buffer.concat([int32(body.length + 4), body]);
}

export const query = (sql: string) => message("Q", text(sql));
export const sync = message("S");
export const parse = (name: string, sql: string, ...types: number[]) =>
  message("P", text(name), text(sql), int16(types.length), ...types.map(int32));
export const bind = (portal: string, statement: string, values: readonly (string | null)[] = []) =>
  message(
    "B",
    text(portal),
    text(statement),
    int16(0),
    int16(values.length),
    ...values.flatMap((value) =>
      value === null ? [int32(-1)] : [int32(Buffer.byteLength(value)), Buffer.from(value)],
    ),
    int16(0),
  );
export const execute = (portal: string, rows = 0) => message("E", text(portal), int32(rows));
export const describe = (kind: "S" | "P", name: string) => message("D", Buffer.from(kind), text(name));
export const closing = (kind: "S" | "P", name: string) => message("C", Buffer.from(kind), text(name));

/** The fields of an ErrorResponse by their letters. */
export function errorFields({ body }: Heard): Record<string, string> {
  const reader = new MessageReader(body);
  const fields: Record<string, string> = {};
  for (let field = reader.byte(); field !== 0; field = reader.byte()) {
    fields[String.fromCharCode(field)] = reader.cstring();
  }
  return fields;
}

/** The first column of each row, as text. */
export function firstColumn(heard: readonly Heard[]): (string | null)[] {
  return heard
    .filter(({ type }) => type === "D")
    .map(({ body }) => {
      const length = body.readInt32BE(2);
      return length === -1 ? null : body.subarray(6, 6 + length).toString();
    });
}
