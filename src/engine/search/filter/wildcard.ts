/**
 * A pattern in which `*` stands for any characters and `?` for one; a backslash takes the next character as it is.
 * Matched by hand with one place to go back to: linear in practice, and no pattern can blow up as a regular
 * expression would.
 */
const anyRun = -1;
const anyOne = -2;

function compile(pattern: string): number[] {
  const parts: number[] = [];
  const points = [...pattern];
  for (let i = 0; i < points.length; i++) {
    const character = points[i]!;
    if (character === "*") {
      if (parts.at(-1) !== anyRun) parts.push(anyRun);
    } else if (character === "?") parts.push(anyOne);
    else if (character === "\\" && i + 1 < points.length) parts.push(points[++i]!.codePointAt(0)!);
    else parts.push(character.codePointAt(0)!);
  }
  return parts;
}

function matchesParts(parts: readonly number[], text: string): boolean {
  const points = Array.from(text, (character) => character.codePointAt(0)!);
  let part = 0;
  let at = 0;
  let starPart = -1;
  let starAt = 0;
  while (at < points.length) {
    const wanted = parts[part];
    if (wanted === anyRun) {
      starPart = part++;
      starAt = at;
    } else if (wanted === anyOne || wanted === points[at]) {
      part++;
      at++;
    } else if (starPart !== -1) {
      part = starPart + 1;
      at = ++starAt;
    } else return false;
  }
  while (parts[part] === anyRun) part++;
  return part === parts.length;
}

/** The literal beginning of the pattern, which narrows the terms to look at, and the test for them. */
export function wildcardMatcher(pattern: string): { prefix: string; matches: (text: string) => boolean } {
  const parts = compile(pattern);
  const open = parts.findIndex((part) => part < 0);
  const literal = open === -1 ? parts : parts.slice(0, open);
  return { prefix: String.fromCodePoint(...literal), matches: (text) => matchesParts(parts, text) };
}
