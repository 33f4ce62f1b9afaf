import { catalogSchema } from "./catalog.ts";
import { quotedText } from "./draft.ts";

/** The patterns of `to_char` and `to_date`, and how DuckDB writes and reads each. */
const timePatterns: readonly (readonly [pattern: string, format: string])[] = [
  ["HH24", "%H"],
  ["HH12", "%I"],
  ["YYYY", "%Y"],
  ["IYYY", "%G"],
  ["MONTH", "%B"],
  ["DDD", "%j"],
  ["DAY", "%A"],
  ["MON", "%b"],
  ["HH", "%I"],
  ["MI", "%M"],
  ["SS", "%S"],
  ["MS", "%g"],
  ["US", "%f"],
  ["YY", "%y"],
  ["MM", "%m"],
  ["DD", "%d"],
  ["DY", "%a"],
  ["AM", "%p"],
  ["PM", "%p"],
  ["ID", "%u"],
  ["IW", "%V"],
  ["TZ", "%Z"],
  ["OF", "%z"],
];

const year = `abs(${catalogSchema}.part_year(t))::VARCHAR`;
const meridiem = `${catalogSchema}.instant_part(t, '%p')`;
const era = `CASE WHEN ${catalogSchema}.part_year(t) < 0 THEN 'BC' ELSE 'AD' END`;
const dotted = (letters: string) => `(${letters})[1] || '.' || (${letters})[2] || '.'`;

/** Patterns that DuckDB has not or writes in another way, as expressions of the instant `t`. */
const timeExpressions: Readonly<Record<string, string>> = {
  YYYY: `lpad(${year}, greatest(length(${year}), 4)::INTEGER, '0')`,
  "Y,YYY": `format('{:,}', abs(${catalogSchema}.part_year(t))::BIGINT)`,
  YYY: `right(lpad(${year}, 4, '0'), 3)`,
  YY: `right(lpad(${year}, 4, '0'), 2)`,
  Y: `right(${year}, 1)`,
  CC: "lpad(date_part('century', t)::VARCHAR, 2, '0')",
  BC: era,
  AD: era,
  "B.C.": dotted(era),
  "A.D.": dotted(era),
  "A.M.": dotted(meridiem),
  "P.M.": dotted(meridiem),
  SSSSS: "(date_part('epoch', t)::BIGINT % 86400)::VARCHAR",
  SSSS: "(date_part('epoch', t)::BIGINT % 86400)::VARCHAR",
  WW: "lpad(((date_part('doy', t) - 1) // 7 + 1)::VARCHAR, 2, '0')",
  W: "((date_part('day', t) - 1) // 7 + 1)::VARCHAR",
  Q: "date_part('quarter', t)::VARCHAR",
  D: "(date_part('dow', t) + 1)::VARCHAR",
  J: "date_part('julian', t)::BIGINT::VARCHAR",
};

const wordPatterns = new Set("MONTH DAY MON DY AM PM A.M. P.M. BC AD B.C. A.D.".split(" "));

interface Part {
  /** A pattern in upper case, or undefined for a text. */
  readonly pattern: string | undefined;
  readonly text: string;
  /** Without padding. */
  readonly isFilled: boolean;
  /** With the ending of an ordinal, in capitals or not. */
  readonly ending?: "TH" | "th";
}

const patternNames = [...new Set([...timePatterns.map(([pattern]) => pattern), ...Object.keys(timeExpressions)])].sort(
  (a, b) => b.length - a.length,
);

function partsOf(template: string): Part[] {
  const parts: Part[] = [];
  let isFilled = false;
  for (let at = 0; at < template.length; ) {
    const upper = template.slice(at, at + 6).toUpperCase();
    if (template[at] === '"') {
      const end = template.indexOf('"', at + 1);
      const stop = end === -1 ? template.length : end;
      parts.push({ pattern: undefined, text: template.slice(at + 1, stop), isFilled });
      at = stop + 1;
    } else if (upper.startsWith("FM")) {
      isFilled = true;
      at += 2;
    } else {
      const pattern = patternNames.find((each) => upper.startsWith(each));
      const text = template.slice(at, at + (pattern?.length ?? 1));
      at += text.length;
      const hasEnding = pattern !== undefined && !wordPatterns.has(pattern) && /^th/i.test(template.slice(at, at + 2));
      const ending = hasEnding ? (template[at] === "T" ? "TH" : "th") : undefined;
      parts.push({ pattern, text, isFilled, ...(ending === undefined ? {} : { ending }) });
      if (hasEnding) at += 2;
      if (pattern !== undefined) isFilled = false;
    }
  }
  return parts;
}

/** Whether a template is of a number. */
export function isNumberTemplate(template: string): boolean {
  return /[90]/.test(template) && !partsOf(template).some(({ pattern }) => pattern !== undefined && pattern.length > 1);
}

/** The text of an instant or an interval `t` by a template, as an expression. */
export function timeExpression(template: string): string {
  const pieces = partsOf(template).map(partExpression);
  return `CASE WHEN t IS NULL THEN NULL ELSE concat(${["''", ...pieces].join(", ")}) END`;
}

function partExpression({ pattern, text, isFilled, ending }: Part): string {
  if (pattern === undefined) return quotedText(text);
  const written = expressionOf(pattern);
  if (!wordPatterns.has(pattern)) {
    const shown = isFilled && pattern !== "Y,YYY" && !/^[TO]/.test(pattern) ? `(${written})::BIGINT::VARCHAR` : written;
    if (ending === undefined) return shown;
    const suffix = `${catalogSchema}.ordinal_ending(${written})`;
    return `${shown} || ${ending === "TH" ? `upper(${suffix})` : suffix}`;
  }
  const cased =
    text === text.toUpperCase() ? `upper(${written})` : text === text.toLowerCase() ? `lower(${written})` : written;
  // Names of months and days are as long as the longest, unless a modifier says otherwise.
  return !isFilled && (pattern === "MONTH" || pattern === "DAY") ? `rpad(${cased}, 9, ' ')` : cased;
}

function expressionOf(pattern: string): string {
  if (Object.hasOwn(timeExpressions, pattern)) return timeExpressions[pattern]!;
  const format = timePatterns.find(([each]) => each === pattern)![1];
  return `${catalogSchema}.instant_part(t, '${format}')`;
}

/** The format by which DuckDB reads a text of a template; undefined where it has a pattern that can't be read. */
export function readingFormat(template: string): string | undefined {
  let format = "";
  for (const { pattern, text, ending } of partsOf(template)) {
    if (ending !== undefined) return undefined;
    const known = timePatterns.find(([each]) => each === pattern)?.[1];
    if (pattern !== undefined && known === undefined) return undefined;
    format += known ?? text.replaceAll("%", "%%");
  }
  return format;
}

/** The text of a number `t` by a template of `9`, `0`, `.`, `,`, `FM`, `S`, `MI` and `D`, `G`; undefined for others. */
export function numberExpression(template: string): string | undefined {
  const upper = template.toUpperCase();
  const isFilled = upper.startsWith("FM");
  const [, lead = "", digits = "", tail = ""] = /^(?:FM)?(S?)([90,.DG]*)(S|MI)?$/.exec(upper) ?? [];
  if (digits === "") return undefined;
  const [whole = "", fraction = ""] = digits.replaceAll("D", ".").replaceAll("G", ",").split(".");
  const scale = fraction.length;
  const zeros = whole.replaceAll(",", "").replace(/^9*/, "").length;
  const isGrouped = whole.includes(",");
  const size = `abs(round(t::DECIMAL(38, 10), ${scale}))`;
  const plain = isGrouped ? `format('{:,.${scale}f}', ${size})` : `format('{:.${scale}f}', ${size})`;
  const shown =
    zeros > 0
      ? `lpad(${plain}, greatest(length(${plain}), ${zeros + (scale > 0 ? scale + 1 : 0)})::INTEGER, '0')`
      : plain;
  // Without a zero to stand for it, nothing stands before the point.
  const bare = zeros === 0 && scale > 0 ? `regexp_replace(${shown}, '^0\\.', '.')` : shown;
  const trimmed = isFilled ? trimmedFraction(bare, fraction) : bare;
  const isSigned = lead === "S" || tail === "S";
  const sign = `CASE WHEN t < 0 THEN '-' ELSE '${isSigned ? "+" : isFilled ? "" : " "}' END`;
  const width = digits.length + 1;
  const whole_ = tail === "" ? `${sign} || ${trimmed}` : `${trimmed} || ${sign}`;
  const text = isFilled ? whole_ : `lpad(${whole_}, ${width}, ' ')`;
  const fits = `length(format('{:.0f}', abs(trunc(t::DECIMAL(38, 10))))) <= ${Math.max(whole.replaceAll(",", "").length, 1)}`;
  return `CASE WHEN ${fits} THEN ${text} ELSE repeat('#', ${width}) END`;
}

/** Digits after the point that a `9` stands for and that are zeros are left out. */
function trimmedFraction(text: string, fraction: string): string {
  const end = fraction.lastIndexOf("0") + 1;
  if (fraction.length === end) return text;
  return `regexp_replace(${text}, '0{0,${fraction.length - end}}$', '')`;
}
