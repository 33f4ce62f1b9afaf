import type { DescMessage } from "@bufbuild/protobuf";
import { Code, ConnectError, type ContextValues, createContextKey } from "@connectrpc/connect";
import { codeToString } from "@connectrpc/connect/protocol-connect";
import type { Principal } from "../../engine/auth/principal.ts";
import { type ErrorContext, toConnectError } from "./error.ts";
import { faultPath, type SentJson } from "./fault-path.ts";
import { header, isGone, type NodeRequest } from "./node.ts";

export interface CallLog {
  error(fields: object, message: string): void;
  debug(fields: object, message: string): void;
}

export type AdmitRequest = (namespace: string) => void;

/** One call from its head to the end of its answer: who makes it, under which name, and how it ended. */
export class Call {
  readonly requestId: string;
  readonly path: string;
  readonly startedMs = performance.now();
  principal: Principal | undefined;
  /** What it changes beside data, where its method alone does not tell. */
  act: string | undefined;
  message: object | undefined;
  /** The outcome; a later error replaces an earlier one. */
  code = "ok";
  isAnswered = false;
  /** What it was sent, and the message that should be. */
  readonly sent: SentJson = {};
  input: DescMessage | undefined;
  readonly #gone = new AbortController();
  readonly #request: NodeRequest;
  readonly #log: CallLog;

  /** Throws where the namespace has been asked as often as it may be. */
  readonly admitRequest: AdmitRequest;

  constructor(requestId: string, path: string, request: NodeRequest, log: CallLog, admitRequest: AdmitRequest) {
    this.admitRequest = admitRequest;
    this.requestId = requestId;
    this.path = path;
    this.#request = request;
    this.#log = log;
  }

  /** The peer of the socket. */
  get peer(): { readonly remoteAddress: string | undefined; readonly remotePort: number | undefined } {
    const { remoteAddress, remotePort } = this.#request.socket;
    return { remoteAddress, remotePort };
  }

  /** What goes on the wire for an error, and into the log where it is ours. */
  readonly explain = (error: unknown) => {
    const context: ErrorContext = {
      acceptLanguage: header(this.#request, "accept-language"),
      report: (cause) => this.report(cause),
      faultPath: () => (this.input && this.sent.text !== undefined ? faultPath(this.input, this.sent.text) : undefined),
    };
    const explained = toConnectError(error, context);
    this.code = codeToString(explained.code);
    return explained;
  };

  /** Aborted when the caller leaves before it has its answer. */
  get signal(): AbortSignal {
    return this.#gone.signal;
  }

  left(): void {
    if (!this.isAnswered) this.#gone.abort(new ConnectError("the caller is gone", Code.Canceled));
  }

  report(error: unknown): string {
    // A caller that has left is answered for the form of it; that is not worth a line in the log.
    if (!isGone(this.#request)) {
      this.#log.error({ reqId: this.requestId, method: this.path, err: error }, "RPC failed");
    }
    return this.requestId;
  }
}

export const callKey = createContextKey<Call | undefined>(undefined, { description: "call" });

/** Who makes the call; calls that need no credential are made by nobody. */
export function principalOf(values: ContextValues): Principal | undefined {
  return values.get(callKey)?.principal;
}

/** Counts a call whose message comes after it was let in. */
export function admitRequest(values: ContextValues, namespace: string): void {
  values.get(callKey)?.admitRequest(namespace);
}

/** Where the call comes from. */
export function peerOf(values: ContextValues): Partial<Call["peer"]> {
  return values.get(callKey)?.peer ?? {};
}
