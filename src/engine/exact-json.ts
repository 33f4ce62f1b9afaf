/** A number of a JSON text as it was written, because a double can't carry it. `JSON.stringify` writes it so again. */
export interface WrittenNumber {
  readonly rawJSON: string;
}

/** What the declared type of JSON leaves out. */
const json = JSON as typeof JSON & {
  rawJSON(text: string): WrittenNumber;
  isRawJSON(value: unknown): value is WrittenNumber;
  parse(
    text: string,
    reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown,
  ): unknown;
};

/** Significant digits that every double carries, and that none is ever printed with. */
const carriedDigits = 15;
const printedDigitsMax = 17;
const exponentDigitsMax = 2;

/** As JSON.parse, but for numbers that a double can't carry: they become `WrittenNumber`s. */
export function parseExact(text: string): unknown {
  return new NumberScan(text, 0).exceeds() ? parseWritten(text) : JSON.parse(text);
}

/** The same without a look at whether there are any. */
export function parseWritten(text: string): unknown {
  return json.parse(text, keepWritten);
}

export function isWrittenNumber(value: unknown): value is WrittenNumber {
  return typeof value === "object" && json.isRawJSON(value);
}

/** The nearest double of a number that is kept as it was written; any other value as it is. */
export function asDouble(value: unknown): unknown {
  return isWrittenNumber(value) ? Number(value.rawJSON) : value;
}

/** A value for readers that know doubles alone: the nearest ones, and as text what is beyond them. */
export function withDoubles(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (isWrittenNumber(value)) return Number.isFinite(Number(value.rawJSON)) ? Number(value.rawJSON) : value.rawJSON;
  if (Array.isArray(value)) return value.map(withDoubles);
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, withDoubles(each)]));
}

function keepWritten(_key: string, value: unknown, { source }: { readonly source?: string }): unknown {
  if (typeof value !== "number" || source === undefined) return value;
  return sameNumber(source, String(value)) ? value : json.rawJSON(source);
}

function sameNumber(a: string, b: string): boolean {
  if (a === b) return true;
  const [one, other] = [decimalOf(a), decimalOf(b)];
  return one !== undefined && one.digits === other?.digits && one.exponent === other.exponent;
}

/** Its digits without zeros at either end, and the power of ten of the last one. */
function decimalOf(text: string): { readonly digits: string; readonly exponent: number } | undefined {
  const [, sign, whole, fraction = "", exponent = "0"] = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(text) ?? [];
  if (whole === undefined) return undefined;
  const all = `${whole}${fraction}`;
  const trimmed = all.replace(/0+$/, "");
  const digits = trimmed.replace(/^0+/, "");
  if (digits === "") return { digits: "0", exponent: 0 };
  return { digits: `${sign}${digits}`, exponent: Number(exponent) - fraction.length + (all.length - trimmed.length) };
}

/** Whether a member of the given name, somewhere in a text, may hold such a number; what else there is, vectors above all, is passed over. */
export function memberMayExceedDoubles(text: string, name: string): boolean {
  const quoted = JSON.stringify(name);
  for (let at = text.indexOf(quoted); at !== -1; at = text.indexOf(quoted, at)) {
    const scan = new NumberScan(text, at + quoted.length);
    if (scan.exceeds()) return true;
    at = scan.at;
  }
  return false;
}

/**
 * Tells by its digits whether the value that begins somewhere in a text may hold such a number: reading every number as it was written takes
 * twenty times as long as reading doubles. Strings are passed over in leaps. Lists often have numbers with as many digits as a double is printed with,
 * so there a few more are asked for.
 */
class NumberScan {
  readonly #text: string;
  at: number;

  constructor(text: string, at: number) {
    this.#text = text;
    this.at = at;
  }

  exceeds(): boolean {
    const text = this.#text;
    let depth = 0;
    let isMember = false;
    while (this.at < text.length) {
      const unit = text[this.at]!;
      if (unit >= "0" && unit <= "9") {
        if (this.#number(isMember)) return true;
        continue;
      }
      if (unit === '"') this.#string();
      else this.at++;
      if (unit === ":") isMember = true;
      else if (unit > " " && unit !== "-") isMember = false;
      if (unit === "{" || unit === "[") depth++;
      else if ((unit === "}" || unit === "]") && --depth <= 0) return false;
    }
    return false;
  }

  #number(isMember: boolean): boolean {
    const text = this.#text;
    let digits = 0;
    let [hasDot, isExponent] = [false, false];
    for (; this.at < text.length; this.at++) {
      const unit = text[this.at]!;
      if (unit >= "0" && unit <= "9") {
        // Zeros in front are no digits of it.
        if (digits > 0 || unit !== "0") digits++;
        if (digits <= (isExponent ? exponentDigitsMax : carriedDigits)) continue;
        if (isExponent || !hasDot || isMember || digits > printedDigitsMax) return true;
      } else if (unit === ".") hasDot = true;
      else if (unit === "e" || unit === "E") {
        isExponent = true;
        digits = 0;
      } else if (unit !== "+" && unit !== "-") return false;
    }
    return false;
  }

  #string(): void {
    const text = this.#text;
    for (this.at++; ; this.at++) {
      const end = text.indexOf('"', this.at);
      if (end === -1) {
        this.at = text.length;
        return;
      }
      let escapes = 0;
      while (text[end - 1 - escapes] === "\\") escapes++;
      this.at = end;
      if (escapes % 2 === 0) break;
    }
    this.at++;
  }
}
