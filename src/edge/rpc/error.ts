import type { DescFile, DescMessage } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { EngineError, type Reason, type RpcCode, reasons } from "../../engine/errors.ts";
import { file_service_collection_v1_collection } from "../../gen/service/collection/v1/collection_pb.ts";
import { file_service_collection_v1_document } from "../../gen/service/collection/v1/document_pb.ts";
import { file_service_collection_v1_filter } from "../../gen/service/collection/v1/filter_pb.ts";
import { file_service_collection_v1_query } from "../../gen/service/collection/v1/query_pb.ts";
import { file_service_collection_v1_schema } from "../../gen/service/collection/v1/schema_pb.ts";
import { ErrorInfoSchema } from "../../gen/service/errors/v1/errors_pb.ts";
import { chooseLocale, hintFor } from "./hints.ts";

/** The one place where a reason becomes an error of Connect, gRPC and gRPC-Web. */

const codes: Record<RpcCode, Code> = {
  canceled: Code.Canceled,
  unknown: Code.Unknown,
  invalid_argument: Code.InvalidArgument,
  deadline_exceeded: Code.DeadlineExceeded,
  not_found: Code.NotFound,
  already_exists: Code.AlreadyExists,
  permission_denied: Code.PermissionDenied,
  resource_exhausted: Code.ResourceExhausted,
  failed_precondition: Code.FailedPrecondition,
  aborted: Code.Aborted,
  out_of_range: Code.OutOfRange,
  unimplemented: Code.Unimplemented,
  internal: Code.Internal,
  unavailable: Code.Unavailable,
  data_loss: Code.DataLoss,
  unauthenticated: Code.Unauthenticated,
};

/** The reason of an error that the RPC library raised on its own, by its code. */
const libraryReasons: Partial<Record<Code, Reason>> = {
  [Code.InvalidArgument]: "invalid_argument",
  // The library exhausts nothing but its message size, which waiting does not help.
  [Code.ResourceExhausted]: "invalid_argument",
  [Code.Unimplemented]: "not_implemented",
  [Code.DeadlineExceeded]: "deadline_exceeded",
  [Code.Unavailable]: "unavailable",
  [Code.Unauthenticated]: "unauthenticated",
  [Code.PermissionDenied]: "permission_denied",
  [Code.NotFound]: "not_found",
  [Code.AlreadyExists]: "already_exists",
  [Code.FailedPrecondition]: "failed_precondition",
  [Code.Aborted]: "aborted",
  // The call is gone and nobody reads the answer; the registry has no reason of its own for it.
  [Code.Canceled]: "aborted",
};

/** Messages may quote the caller's bytes, and the header of gRPC that holds them is small. */
const messageLengthMax = 1000;
const fieldLengthMax = 128;

export interface ErrorContext {
  readonly acceptLanguage: string | null | undefined;
  /** Takes what happened and returns the request id under which it was logged. */
  readonly report: (error: unknown) => string;
  /** Where in the request the field is that the library could not decode. */
  readonly faultPath?: () => string | undefined;
}

function metadataOf(error: EngineError, hint: string): Record<string, string> {
  const metadata: Record<string, string> = {};
  for (const key of reasons[error.reason].metadata) {
    const text = error.metadata[key] ?? (key === "retry_after_ms" ? error.retryAfterMs?.toString() : undefined);
    // The engine's hint is English; the caller's language is known only here.
    const value = key === "hint" ? hint : text;
    if (value !== undefined) metadata[key] = value;
  }
  return metadata;
}

interface Overrides {
  readonly code?: Code;
  readonly hintReason?: Reason;
}

function fromEngine(error: EngineError, context: ErrorContext, overrides: Overrides = {}): ConnectError {
  const { reason } = error;
  const hint = hintFor(overrides.hintReason ?? reason, chooseLocale(context.acceptLanguage));
  // What went wrong inside is for the log alone.
  const message =
    reason === "internal"
      ? `internal error, request id ${context.report(error)}`
      : error.message.slice(0, messageLengthMax);
  const code = overrides.code ?? codes[reasons[reason].rpc];
  const result = new ConnectError(message, code, undefined, undefined, error);
  const info = create(ErrorInfoSchema, { reason, metadata: metadataOf(error, hint), hint });
  result.details.push({ desc: ErrorInfoSchema, value: info });
  return result;
}

/** The field at fault, as far as the library's message names it. */
function fieldOf(message: string): string {
  const unknown = /key "([^"]*)" is unknown/.exec(message)?.[1];
  if (unknown !== undefined) return unknown === "" ? '""' : unknown.slice(0, fieldLengthMax);
  const named = /field (?:[\w.]+\.)?(\w+) from JSON/.exec(message)?.[1];
  if (named !== undefined) return named.slice(0, fieldLengthMax);
  const second = /oneof set multiple times by \w+ and (\w+)/.exec(message)?.[1];
  if (second !== undefined) return second.slice(0, fieldLengthMax);
  // For a malformed message only the type is reported.
  const holding = fieldHolding(/message ([\w.]+) from JSON/.exec(message)?.[1] ?? "");
  if (holding !== undefined) return holding;
  if (/connect timeout/i.test(message)) return "Connect-Timeout-Ms";
  if (/timeout/i.test(message)) return "grpc-timeout";
  if (/content type/i.test(message)) return "content-type";
  if (/compression/i.test(message)) return "content-encoding";
  return "body";
}

/** Of two members that exclude each other the second is at fault, and the place is that of what holds them. */
function wholePath(path: string, named: string, message: string): string {
  return /oneof set multiple times/.test(message) ? `${path}.${named}` : path;
}

function hasInfo(error: ConnectError): boolean {
  return error.details.some(
    (detail) => ("desc" in detail ? detail.desc.typeName : detail.type) === ErrorInfoSchema.typeName,
  );
}

/** What a caller can do about an error of the library that its reason alone does not tell. */
function hintReasonOf(reason: Reason, message: string): Reason {
  if (/^method not allowed/.test(message)) return "method_not_allowed";
  return /^unsupported content type/.test(message) ? "unsupported_media_type" : reason;
}

function fromLibrary(error: ConnectError, context: ErrorContext): ConnectError {
  const message = error.rawMessage;
  // The library calls a request that it can't decode an internal error; the fault is the caller's.
  const undecodable = /^parse binary|^protocol error|decompress|invalid envelope/i.test(message);
  const reason = undecodable ? "invalid_argument" : libraryReasons[error.code];
  if (reason === undefined) return fromEngine(EngineError.from(error), context);
  const path = reason === "invalid_argument" && /from JSON/.test(message) ? context.faultPath?.() : undefined;
  const named = fieldOf(message);
  const field = path === undefined ? named : wholePath(path, named, message).slice(0, fieldLengthMax);
  const metadata = reason === "invalid_argument" ? { field } : {};
  const text = path === undefined ? message : `${field}: ${message}`;
  const result = fromEngine(new EngineError(reason, text, { metadata, cause: error }), context, {
    ...(error.code === Code.Canceled ? { code: Code.Canceled } : {}),
    hintReason: error.code === Code.ResourceExhausted ? "body_too_large" : hintReasonOf(reason, message),
  });
  error.metadata.forEach((value, key) => {
    result.metadata.set(key, value);
  });
  return result;
}

/** Any error as what goes on the wire: with an ErrorInfo, in the caller's language, and without internals. */
export function toConnectError(error: unknown, context: ErrorContext): ConnectError {
  if (error instanceof ConnectError) return hasInfo(error) ? error : fromLibrary(error, context);
  return fromEngine(EngineError.from(error), context);
}

const files: readonly DescFile[] = [
  file_service_collection_v1_collection,
  file_service_collection_v1_document,
  file_service_collection_v1_filter,
  file_service_collection_v1_query,
  file_service_collection_v1_schema,
];

/** The names of the fields that hold a message of each type. */
const holders = new Map<string, Set<string>>();
for (const { fields } of files.flatMap(({ messages }) => messages)) {
  for (const field of fields) {
    const message: DescMessage | undefined = field.message;
    if (message === undefined) continue;
    holders.set(message.typeName, (holders.get(message.typeName) ?? new Set()).add(field.name));
  }
}

/** The one field that holds messages of a type, or of several the one that is called as the type is. */
function fieldHolding(typeName: string): string | undefined {
  const names = holders.get(typeName) ?? new Set<string>();
  const [only, ...more] = names;
  if (more.length === 0) return only;
  const own = typeName.slice(typeName.lastIndexOf(".") + 1).toLowerCase();
  return names.has(own) ? own : undefined;
}
