import { type ClientHttp2Session, connect, type IncomingHttpHeaders } from "node:http2";
import { fromBinary } from "@bufbuild/protobuf";
import { reasons } from "../../../src/engine/errors.ts";
import { ErrorInfoSchema } from "../../../src/gen/service/errors/v1/errors_pb.ts";
import type { Dice } from "../../sim/dice.ts";
import { Finding, must, type OpenTarget, type Target } from "../target.ts";
import { type FuzzServer, secret, serverLimits } from "./server.ts";

export interface RpcCall {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Base64. */
  readonly body: string;
  readonly method: string;
}

export interface RpcAnswer {
  readonly headers: IncomingHttpHeaders;
  readonly trailers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** Frames of gRPC and of Connect's streams: flags, a length, the message. */
export function enveloped(message: Uint8Array, dice: Dice): Buffer {
  const head = Buffer.alloc(5);
  head[0] = dice.chance(0.9) ? 0 : dice.pick([1, 2, 3, 0x80, 0xff]);
  head.writeUInt32BE(
    dice.chance(0.9) ? message.length : dice.pick([0, message.length + 1, 0xffffffff, 17 * 1024 * 1024]),
    1,
  );
  return Buffer.concat([head, message]);
}

export class RpcSender {
  readonly #server: FuzzServer;
  #session: ClientHttp2Session | undefined;

  constructor(server: FuzzServer) {
    this.#server = server;
  }

  close(): void {
    this.#session?.destroy();
  }

  send({ path, headers, body, method }: RpcCall): Promise<RpcAnswer | undefined> {
    if (this.#session === undefined || this.#session.destroyed || this.#session.closed) {
      this.#session = connect(this.#server.url);
      this.#session.on("error", () => {});
    }
    const session = this.#session;
    return new Promise((resolve, reject) => {
      const stream = session.request({ ":method": method, ":path": path, ...headers });
      const timer = setTimeout(() => {
        stream.close();
        reject(new Finding("no answer"));
      }, serverLimits.answerMs);
      const chunks: Buffer[] = [];
      let received: IncomingHttpHeaders = {};
      let trailers: IncomingHttpHeaders = {};
      stream.on("response", (given) => {
        received = given;
      });
      stream.on("trailers", (given) => {
        trailers = given;
      });
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("error", () => {});
      stream.on("close", () => {
        clearTimeout(timer);
        // A call that is broken off has no answer.
        resolve(
          received[":status"] === undefined ? undefined : { headers: received, trailers, body: Buffer.concat(chunks) },
        );
      });
      stream.end(Buffer.from(body, "base64"));
    });
  }
}

/** Codes that say that the fault is ours. */
const oursInWords = new Set(["internal", "unknown", "data_loss"]);
const oursInNumbers = new Set(["2", "13", "15"]);

export function checkAnswer(answer: RpcAnswer, contentType: string): void {
  const { headers, trailers, body } = answer;
  const told = () => ({ headers, trailers, body: body.latin1Slice().slice(0, 1_500) });
  must(typeof headers["x-request-id"] === "string", "an answer without its X-Request-Id", told);
  const all = JSON.stringify(told());
  must(!all.includes(secret), "an answer tells a secret", told);
  must(!/\bat [\w.<> ]+ \(?(?:file|node):/.test(all), "an answer tells a stack", told);
  const status = Number(headers[":status"]);
  must(status !== 500 || contentType.startsWith("application/json"), "a status of ours", told);
  const grpcStatus = (trailers["grpc-status"] ?? headers["grpc-status"]) as string | undefined;
  if (grpcStatus !== undefined && grpcStatus !== "0") {
    must(!oursInNumbers.has(grpcStatus), "an error of ours", told);
    const details = (trailers["grpc-status-details-bin"] ?? headers["grpc-status-details-bin"]) as string | undefined;
    must(details !== undefined, "an error without its reason", told);
  }
  if (String(headers["content-type"]).startsWith("application/json") && status !== 200) checkJsonError(body, told);
}

interface JsonError {
  readonly code?: string;
  readonly details?: readonly { readonly type: string; readonly value: string }[];
}

function checkJsonError(body: Buffer, told: () => unknown): void {
  const { code, details = [] } = JSON.parse(body.toString()) as JsonError;
  must(code !== undefined && !oursInWords.has(code), "an error of ours", told);
  const detail = details.find(({ type }) => type === ErrorInfoSchema.typeName);
  must(detail !== undefined, "an error without its reason", told);
  const { reason, metadata } = fromBinary(ErrorInfoSchema, Buffer.from(detail.value, "base64"));
  must(reason in reasons, "a reason of no registry", told);
  if (reason === "invalid_argument") must((metadata["field"] ?? "") !== "", "bad input whose field is not named", told);
}

const callsAtOnce = 16;

/** A target whose inputs are calls that `make` makes. */
export function rpcTarget(name: string, make: (dice: Dice) => RpcCall): Target {
  return {
    name,
    open: async (context): Promise<OpenTarget> => {
      const server = await context.server();
      const sender = new RpcSender(server);
      return {
        inputs: { kind: "made", lanes: callsAtOnce, make: (dice) => Buffer.from(JSON.stringify(make(dice))) },
        run: async (input) => {
          const call = JSON.parse(input.toString()) as RpcCall;
          const answer = await sender.send(call);
          if (answer !== undefined && call.method === "POST") checkAnswer(answer, call.headers["content-type"] ?? "");
          server.checkLogs();
        },
        check: () => server.check(),
        [Symbol.asyncDispose]: async () => sender.close(),
      };
    },
  };
}
