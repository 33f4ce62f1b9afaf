export interface Instruction {
  readonly word: string;
  readonly rest: string;
}

/** The instructions of a container file. Comments may stand between the lines of one. */
export function instructionsOf(text: string): Instruction[] {
  const lines = text.split("\n").filter((line) => !/^\s*(?:#|$)/.test(line));
  return lines
    .join("\n")
    .replaceAll(/\\\n\s*/g, "")
    .split("\n")
    .map((line) => {
      const [, word = "", rest = ""] = /^(\S+)\s+(.*)$/.exec(line) ?? [];
      return { word, rest };
    });
}
