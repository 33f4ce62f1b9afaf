/** `native-engine/client`: everything that a program of the outside uses. Runs in browsers and on servers. */
export { Client } from "./client.ts";
export type { FilterWriteOptions, ReadOptions, ScrollOptions, WriteOptions } from "./collection.ts";
export { CollectionClient } from "./collection.ts";
export { ServiceError } from "./error.ts";
export type {
  ApiOf,
  ArgsOf,
  FunctionReference,
  LiveClientOptions,
  MutateOptions,
  OptimisticStore,
  ResultOf,
} from "./live-client.ts";
export { LiveClient, LiveFunctionError } from "./live-client.ts";
export type { NewStream } from "./namespace.ts";
export { NamespaceClient } from "./namespace.ts";
export type { ConsistencyToken, TokenEntry } from "./session.ts";
export { Session } from "./session.ts";
export type { AppendOptions, FetchOptions, From, TailOptions } from "./stream.ts";
export { StreamClient } from "./stream.ts";
export type { CallOptions, ClientOptions, RetryOptions } from "./transport.ts";
export type * from "./types.ts";
