import type { Steps } from "../turns.ts";

const blank = /[ \t\n\r]*/y;
const scalar = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;
const plainText = /[^"\\\u0000-\u001f]*/y;
const escaped = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;

/** Characters that are looked at in one step: some tenths of a millisecond. */
const stepCharacters = 64 * 1024;

/** Tells whether a text is JSON, as JSON.parse does but in steps and without making its values. */
export function* isJson(text: string): Steps<boolean> {
  const scan = new Scan(text);
  /** Whether each open bracket is an object's. */
  const open: boolean[] = [];
  let nextStep = stepCharacters;
  for (;;) {
    // A value begins here.
    scan.pass(blank);
    const bracket = text[scan.at];
    if (bracket === "{" || bracket === "[") {
      scan.at++;
      scan.pass(blank);
      open.push(bracket === "{");
      if (text[scan.at] !== (bracket === "{" ? "}" : "]")) {
        if (bracket === "{" && !(yield* scan.key())) return false;
        continue;
      }
    } else if (bracket === '"' ? !(yield* scan.string()) : !scan.pass(scalar)) return false;
    // It has ended; so may those around it.
    for (;;) {
      scan.pass(blank);
      if (scan.at >= nextStep) {
        nextStep = scan.at + stepCharacters;
        yield;
      }
      const inObject = open.at(-1);
      if (inObject === undefined) return scan.at === text.length;
      if (text[scan.at] === (inObject ? "}" : "]")) {
        open.pop();
        scan.at++;
        continue;
      }
      if (text[scan.at] !== ",") return false;
      scan.at++;
      if (inObject && !(yield* scan.key())) return false;
      break;
    }
  }
}

class Scan {
  at = 0;
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  /** Goes behind what the pattern matches here; false where it matches nothing. */
  pass(pattern: RegExp): boolean {
    pattern.lastIndex = this.at;
    if (!pattern.test(this.#text)) return false;
    this.at = pattern.lastIndex;
    return true;
  }

  /** A name and its colon. */
  *key(): Steps<boolean> {
    this.pass(blank);
    if (this.#text[this.at] !== '"' || !(yield* this.string())) return false;
    this.pass(blank);
    return this.#text[this.at++] === ":";
  }

  *string(): Steps<boolean> {
    let nextStep = this.at + stepCharacters;
    this.at++;
    for (;;) {
      this.pass(plainText);
      const end = this.#text[this.at];
      if (end === '"') {
        this.at++;
        return true;
      }
      if (end !== "\\" || !this.pass(escaped)) return false;
      if (this.at < nextStep) continue;
      nextStep = this.at + stepCharacters;
      yield;
    }
  }
}
