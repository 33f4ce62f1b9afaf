import type { OutgoingHttpHeaders } from "node:http";
import { create, type DescMessage, type DescMethodUnary, type MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError, createContextValues, type HandlerContext, type MethodImpl } from "@connectrpc/connect";
import {
  compressionNegotiate,
  createMethodSerializationLookup,
  type MethodSerializationLookup,
} from "@connectrpc/connect/protocol";
import { type Call, callKey } from "./call.ts";
import { compressions } from "./compressions.ts";
import { sentJson } from "./fault-path.ts";
import { admitMessage, endError } from "./interceptor.ts";
import { rpcLimits } from "./limits.ts";
import { binaryOptions, jsonOptions } from "./message-parts.ts";
import {
  type AnyNodeResponse,
  type BodyMeter,
  countBytes,
  header,
  headersOf,
  isGone,
  type NodeRequest,
  type NodeResponse,
  urlOf,
} from "./node.ts";
import type { ExtraHeaders } from "./respond.ts";

const types = { "application/json": false, "application/proto": true } as const;
/** Of larger ones the library's share is small. */
const bodyBytesMax = 1024 * 1024;
const limits = {
  readMaxBytes: rpcLimits.readBytesMax,
  writeMaxBytes: rpcLimits.writeBytesMax,
  compressMinBytes: rpcLimits.compressBytesMin,
};

/**
 * A way past the RPC library for unary calls of the Connect protocol whose body has a length and no compression, and that
 * have no deadline. The library makes three sets of headers and two abort controllers, one of which it aborts after each
 * call, and passes the body through async generators: of a Live insert's 511 µs of processor time 342 are left without that.
 * Its codecs are used here too, and all other calls are its own. `test/wire/rpc/unary-lane.test.ts` compares both ways.
 */
export class UnaryLane {
  readonly #method: DescMethodUnary;
  readonly #implementation: MethodImpl<DescMethodUnary>;
  readonly #codecs: MethodSerializationLookup<DescMessage, DescMessage>;

  constructor(method: DescMethodUnary, implementation: MethodImpl<DescMethodUnary>) {
    this.#method = method;
    this.#implementation = implementation;
    this.#codecs = createMethodSerializationLookup(method, binaryOptions, jsonOptions, limits);
  }

  static takes({ method, headers }: NodeRequest): boolean {
    return (
      method === "POST" &&
      Object.hasOwn(types, headers["content-type"] ?? "") &&
      Number(headers["content-length"] ?? Number.NaN) <= bodyBytesMax &&
      headers["content-encoding"] === undefined &&
      headers["connect-timeout-ms"] === undefined
    );
  }

  /** Rejects with the error to send instead of an answer. */
  async serve(
    call: Call,
    request: NodeRequest,
    response: AnyNodeResponse,
    meter: BodyMeter,
    extra: ExtraHeaders,
  ): Promise<void> {
    const type = request.headers["content-type"] as keyof typeof types;
    const isBinary = types[type];
    const bytes = await readBody(request, meter);
    const message = sentJson.run(call.sent, () => this.#codecs.getI(isBinary).parse(bytes));
    const context = new LaneContext(this.#method, call, request);
    let answer: MessageInitShape<DescMessage>;
    try {
      admitMessage(call, message);
      answer = await this.#implementation(message, context);
    } catch (error) {
      throw endError(call.signal, error);
    }
    const body = this.#codecs.getO(isBinary).serialize(create(this.#method.output, answer));
    await write(request, response, body, context.headersTo({ ...extra, "content-type": type }));
  }
}

/** What handlers use of their call. Headers are made for those who look at them. */
class LaneContext implements HandlerContext {
  readonly method: DescMethodUnary;
  readonly protocolName = "connect";
  readonly requestMethod = "POST";
  readonly values = createContextValues();
  readonly signal: AbortSignal;
  readonly #request: NodeRequest;
  #requestHeader: Headers | undefined;
  #responseHeader: Headers | undefined;
  #responseTrailer: Headers | undefined;

  constructor(method: DescMethodUnary, call: Call, request: NodeRequest) {
    this.method = method;
    this.signal = call.signal;
    this.#request = request;
    this.values.set(callKey, call);
  }

  get service() {
    return this.method.parent;
  }

  get url(): string {
    return urlOf(this.#request);
  }

  get requestHeader(): Headers {
    this.#requestHeader ??= headersOf(this.#request);
    return this.#requestHeader;
  }

  get responseHeader(): Headers {
    this.#responseHeader ??= new Headers();
    return this.#responseHeader;
  }

  get responseTrailer(): Headers {
    this.#responseTrailer ??= new Headers();
    return this.#responseTrailer;
  }

  timeoutMs(): undefined {
    return undefined;
  }

  headersTo(headers: OutgoingHttpHeaders): OutgoingHttpHeaders {
    for (const [name, value] of this.#responseHeader ?? []) headers[name] = value;
    for (const [name, value] of this.#responseTrailer ?? []) headers[`trailer-${name}`] = value;
    return headers;
  }
}

function readBody(request: NodeRequest, meter: BodyMeter): Promise<Uint8Array<ArrayBuffer>> {
  const gone = () => new ConnectError("the caller is gone", Code.Canceled);
  return new Promise((resolve, reject) => {
    // It may have left while its credential was checked.
    if (isGone(request)) reject(gone());
    const chunks: Buffer<ArrayBuffer>[] = [];
    let bytes = 0;
    const take = (chunk: Buffer<ArrayBuffer>) => {
      bytes += chunk.byteLength;
      chunks.push(chunk);
      try {
        countBytes(meter, bytes);
      } catch (error) {
        request.off("data", take);
        reject(error);
      }
    };
    request.on("data", take);
    request.once("end", () => resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)));
    request.once("close", () => reject(gone()));
  });
}

async function write(
  request: NodeRequest,
  response: NodeResponse,
  body: Uint8Array<ArrayBuffer>,
  headers: OutgoingHttpHeaders,
): Promise<void> {
  const accepted = body.byteLength < limits.compressMinBytes ? undefined : header(request, "accept-encoding");
  const compression =
    accepted === undefined ? null : compressionNegotiate(compressions, null, accepted, "Accept-Encoding").response;
  const sent = compression === null ? body : await compression.compress(body);
  if (compression !== null) headers["content-encoding"] = compression.name;
  headers["content-length"] = sent.byteLength;
  response.writeHead(200, headers);
  response.end(sent);
}
