/** A number of a JSON text as it was written, because a double can't carry it. `JSON.stringify` writes it so again. */
export interface WrittenNumber {
  readonly rawJSON: string;
}

/** What older browsers, and the declared type, do not have. */
const json = JSON as typeof JSON & {
  readonly rawJSON?: (text: string) => WrittenNumber;
  readonly isRawJSON?: (value: unknown) => boolean;
};
type Reviver = (key: string, value: unknown, context?: { readonly source?: string }) => unknown;

/** Digits or exponents that a double may not carry. A text without any is read much faster. */
const mayExceed = /[\d.]{16}|\de[+-]?\d{3}/i;

/** As JSON.parse, but for numbers that a double can't carry: they become `WrittenNumber`s, where there are such. */
export function parseExactly(text: string): unknown {
  return mayExceed.test(text)
    ? JSON.parse(text, keepWritten as (key: string, value: unknown) => unknown)
    : JSON.parse(text);
}

export function isWrittenNumber(value: unknown): value is WrittenNumber {
  return json.isRawJSON?.(value) === true;
}

const keepWritten: Reviver = (_key, value, context) => {
  const written = context?.source;
  if (typeof value !== "number" || written === undefined || json.rawJSON === undefined) return value;
  return isSameNumber(written, String(value)) ? value : json.rawJSON(written);
};

function isSameNumber(a: string, b: string): boolean {
  return a === b || decimalOf(a) === decimalOf(b);
}

/** Its digits without zeros at either end, and the power of ten of the last one. */
function decimalOf(text: string): string {
  const [, sign, whole, fraction = "", exponent = "0"] = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(text) ?? [];
  if (whole === undefined) return text;
  const all = whole + fraction;
  const shortened = all.replace(/0+$/, "");
  const digits = shortened.replace(/^0+/, "");
  return digits === ""
    ? "0"
    : `${sign}${digits}e${Number(exponent) - fraction.length + (all.length - shortened.length)}`;
}
