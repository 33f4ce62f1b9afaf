import type { HandlerContext } from "@connectrpc/connect";
import type { DocumentRef, ReadOptions } from "../../engine/collection/documents.ts";
import { EngineError, invalid } from "../../engine/errors.ts";
import { parseName } from "../../engine/ids.ts";
import { integerMax } from "../../engine/limits.ts";
import { type ConsistencyToken, emptyToken, formatToken, parseToken } from "../../engine/token.ts";

/** What requests of several services have in common. */

const tokenHeader = "Service-Consistency-Token";

/** The token that a read carries. */
export function readToken(context: HandlerContext): ConsistencyToken {
  const value = context.requestHeader.get(tokenHeader);
  return value === null ? emptyToken : parseToken(tokenHeader, value);
}

/** A token goes out in the response header as well as in the body. */
export function sendToken(context: HandlerContext, token: ConsistencyToken) {
  context.responseHeader.set(tokenHeader, formatToken(token));
  return tokenMessage(token);
}

export function tokenMessage(token: ConsistencyToken) {
  return token.map(({ stream, partition, offset }) => ({ stream: BigInt(stream), partition, offset: BigInt(offset) }));
}

export function readOptions(context: HandlerContext, consistency: string): ReadOptions {
  if (!["", "strong", "eventual"].includes(consistency)) throw invalid("consistency", "must be strong or eventual");
  return { token: readToken(context), eventual: consistency === "eventual" };
}

interface Addressed {
  readonly namespace: string;
  readonly collection: string;
}

/** The collection that a request names, by its name or an alias. */
export function refOf({ namespace, collection }: Addressed): DocumentRef {
  return { namespace: parseName("namespace", namespace), collection: parseName("collection", collection) };
}

/** A 64-bit integer that is an id, a version or an offset. */
export function toCount(field: string, value: bigint): number {
  if (value < 0n || value > integerMax) throw invalid(field, `must be an integer from 0 to ${integerMax}`);
  return Number(value);
}

/** A number that may be left out; proto3 has 0 for that where the field is not `optional`. */
export function toSize(field: string, value: number | undefined, absent: number, max: number): number {
  if (value === undefined) return absent;
  if (value < 1 || value > max) throw invalid(field, `must be an integer from 1 to ${max}`);
  return value;
}

export function checkLength(field: string, list: readonly unknown[], min: number, max: number): void {
  if (list.length < min || list.length > max) throw invalid(field, `must have ${min} to ${max} entries`);
}

/** A call whose caller has stopped waiting starts nothing. */
export function checkWanted({ signal }: HandlerContext): void {
  if (signal.aborted) throw deadlineError();
}

export function deadlineError(): EngineError {
  return new EngineError("deadline_exceeded", "the caller's deadline passed");
}
