import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { Model, Operation } from "./linearize.ts";

export type PartitionInput =
  | { readonly kind: "append"; readonly values: readonly string[]; readonly matchOffset: number | undefined }
  | { readonly kind: "fetch"; readonly offset: number }
  | { readonly kind: "end" };

export type PartitionOutput =
  | { readonly kind: "appended"; readonly base: number; readonly last: number }
  | { readonly kind: "conflict"; readonly end: number }
  | { readonly kind: "page"; readonly values: readonly string[]; readonly end: number }
  /** By SQL: all there is from the offset on. */
  | { readonly kind: "rows"; readonly values: readonly string[] }
  | { readonly kind: "out_of_range"; readonly end: number }
  | { readonly kind: "end"; readonly end: number };

export interface PartitionState {
  readonly values: readonly string[];
  readonly digest: string;
}

export type PartitionOperation = Operation<PartitionInput, PartitionOutput>;

/** One partition of a stream without retention: appends, with or without the offset they must go to, and reads. */
export const partitionModel: Model<PartitionState, PartitionInput, PartitionOutput> = {
  start: { values: [], digest: "" },
  step(state, input, output) {
    const { values } = state;
    const { length } = values;
    if (output !== undefined && "end" in output && output.end !== length) return undefined;
    switch (input.kind) {
      case "append": {
        const isMatch = input.matchOffset === undefined || input.matchOffset === length;
        if (output?.kind === "conflict") return isMatch ? undefined : state;
        const isTold = output?.kind === "appended";
        if (output !== undefined && !isTold) return undefined;
        if (isTold && (output.base !== length || output.last !== length + input.values.length - 1)) return undefined;
        return isMatch ? appended(state, input.values) : undefined;
      }
      case "fetch": {
        if (output?.kind === "out_of_range") return input.offset > length ? state : undefined;
        if (output?.kind === "rows")
          return isDeepStrictEqual(output.values, values.slice(input.offset)) ? state : undefined;
        if (output?.kind !== "page" || input.offset > length) return undefined;
        if (output.values.length === 0 && input.offset < length) return undefined;
        const isSame = output.values.every((value, i) => values[input.offset + i] === value);
        return isSame ? state : undefined;
      }
      case "end":
        return output?.kind === "end" ? state : undefined;
    }
  },
  // A partition only grows: whoever was told of an earlier end is too late.
  isLost({ values: { length } }, { input, output }) {
    if (output === undefined) return false;
    if (output.kind === "rows") return input.kind === "fetch" && input.offset + output.values.length < length;
    return output.kind === "appended" ? output.base < length : output.end < length;
  },
  key: ({ values, digest }) => `${values.length} records, the last ${values.at(-1)?.slice(0, 40)}, ${digest}`,
  show: (input, output) => `${JSON.stringify(input)} → ${JSON.stringify(output)}`.slice(0, 400),
};

function appended({ values, digest }: PartitionState, more: readonly string[]): PartitionState {
  const hash = createHash("sha1").update(digest).update(JSON.stringify(more)).digest("base64").slice(0, 12);
  return { values: [...values, ...more], digest: hash };
}

/**
 * Appends without an answer would make the search endless: any of them may come at any moment. But values are told
 * apart, and `last`, a read of the whole partition after everything else, has them or not. One that is there was appended, at that
 * offset; one that is not was not, or after the last read.
 */
export function settleAppends(
  operations: readonly PartitionOperation[],
  last: readonly string[],
): PartitionOperation[] {
  const places = new Map(last.map((value, i) => [value, i]));
  return operations.flatMap((operation) => {
    const { input, output } = operation;
    if (output !== undefined) return [operation];
    if (input.kind !== "append") return [];
    const base = input.values.map((value) => places.get(value)).find((place) => place !== undefined);
    if (base === undefined) return [];
    const appendedAt = { kind: "appended", base, last: base + input.values.length - 1 } as const;
    return [{ ...operation, output: appendedAt }];
  });
}
