import { invalid } from "../../engine/errors.ts";
import { keepSent } from "./fault-path.ts";
import { rpcLimits } from "./limits.ts";

/**
 * A message of 16 MiB holds eight million empty ones, of two bytes each, and as objects they take gigabytes and seconds. The
 * library bounds the bytes of a message and how deep it nests, not how many it has; these options do.
 */

/**
 * The library asks how deep messages may nest before it reads each of them and before it passes over each field that it
 * does not know, and at no other time: whatever answers can count them.
 */
class CountedDepth {
  #left = rpcLimits.messagePartsMax;

  valueOf(): number {
    if (this.#left-- === 0) throw invalid("body", `must not have more than ${rpcLimits.messagePartsMax} parts`);
    return rpcLimits.messageDepthMax;
  }
}

export const binaryOptions = {
  // Nothing looks at them, and each would be kept as an object.
  readUnknownFields: false,
  /** Anew for each message. */
  get recursionLimit(): number {
    return new CountedDepth() as unknown as number;
  },
};

const quote = 0x22;
const backslash = 0x5c;
const openBrace = 0x7b;

class CountingDecoder extends TextDecoder {
  constructor() {
    // Damaged bytes would else silently become replacement characters.
    super("utf-8", { fatal: true });
  }

  override decode(input?: Uint8Array): string {
    if (input !== undefined && hasTooManyObjects(input)) {
      throw invalid("body", `must not have more than ${rpcLimits.jsonObjectsMax} objects`);
    }
    const text = super.decode(input);
    keepSent(text);
    return text;
  }
}

/** A plain loop: it sees every byte of a large message. */
function hasTooManyObjects(bytes: Uint8Array): boolean {
  if (bytes.length < 2 * rpcLimits.jsonObjectsMax) return false;
  let objects = 0;
  let isText = false;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (isText && byte === backslash) at++;
    else if (byte === quote) isText = !isText;
    else if (byte === openBrace && !isText && ++objects > rpcLimits.jsonObjectsMax) return true;
  }
  return false;
}

export const jsonOptions = {
  // A misspelt option must not be ignored; a field that is false or empty is still written.
  ignoreUnknownFields: false,
  alwaysEmitImplicit: true,
  textDecoder: new CountingDecoder(),
};
