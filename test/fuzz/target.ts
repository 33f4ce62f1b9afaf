import type { Dice } from "../sim/dice.ts";

/** Something that is fed with inputs. Whatever `run` throws is a finding. */
export interface Target {
  readonly name: string;
  /** What the target needs, opened once for all its inputs. */
  open(context: TargetContext): Promise<OpenTarget>;
}

export interface TargetContext {
  /** A server that targets of wires share; started at the first call. */
  server(): Promise<import("./wire/server.ts").FuzzServer>;
}

export interface OpenTarget extends AsyncDisposable {
  /**
   * How inputs are made: `guided` ones by mutation of a corpus that grows where new code is reached, others by the target
   * itself from the seed.
   */
  readonly inputs: GuidedInputs | MadeInputs;
  run(input: Buffer): void | Promise<void>;
  /** Looked at now and then and at the end: that the server lives, that its memory is bounded. */
  check?(): Promise<void>;
}

export interface GuidedInputs {
  readonly kind: "guided";
  /** The first corpus. */
  readonly seeds: readonly (string | Uint8Array)[];
  /** Words of the input's language. */
  readonly words: readonly string[];
  readonly bytesMax: number;
  /** Sources whose coverage guides, as a part of their path. */
  readonly sources: readonly string[];
  /** Mends what a mutation broke and nobody would get past, such as a checksum. */
  readonly mend?: (input: Buffer, dice: Dice) => Buffer;
}

export interface MadeInputs {
  readonly kind: "made";
  /** Inputs that are tried at once, for most of one is waiting; 1 unless told. */
  readonly lanes?: number;
  make(dice: Dice): Buffer;
}

/** A property that does not hold. */
export class Finding extends Error {
  override readonly name = "Finding";
}

export function must(holds: boolean, what: string, detail: () => unknown = () => undefined): asserts holds {
  if (holds) return;
  const more = detail();
  throw new Finding(more === undefined ? what : `${what}: ${typeof more === "string" ? more : JSON.stringify(more)}`);
}

export const nothingToClose = { [Symbol.asyncDispose]: async () => {} };
