export interface TextEdit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** A part of a statement that is moved: what stands in its place, and its name where it goes. */
export interface MovedPart {
  readonly start: number;
  readonly end: number;
  readonly text: string;
  readonly name: string;
}

/** Parts that go to one place behind them, between `before` and `after`. */
export interface Moved {
  readonly to: number;
  readonly before: string;
  readonly parts: MovedPart[];
  readonly after: string;
}

/** A part that is being written, from `at` on. */
interface Open {
  readonly part: MovedPart;
  at: number;
  text: string;
}

/** Edits with those that move parts of the text: what is changed within a part goes along, in one pass over all of them. */
export function withMoved(text: string, edits: readonly TextEdit[], moves: readonly Moved[]): TextEdit[] {
  if (moves.length === 0) return [...edits];
  const outer: TextEdit[] = [];
  const open: Open[] = [];
  const written = new Map<MovedPart, string>();
  const put = (edit: TextEdit) => {
    const around = open.at(-1);
    if (around === undefined) {
      outer.push(edit);
      return;
    }
    around.text += text.slice(around.at, edit.start) + edit.text;
    around.at = edit.end;
  };
  const closeUpTo = (place: number) => {
    for (let last = open.at(-1); last !== undefined && last.part.end <= place; last = open.at(-1)) {
      open.pop();
      const { part } = last;
      written.set(part, `${last.text}${text.slice(last.at, part.end)} AS ${part.name}`);
      put(part);
    }
  };
  for (const { start, edit, part, move } of inOrder(edits, moves)) {
    closeUpTo(start);
    if (edit !== undefined) put(edit);
    if (part !== undefined) open.push({ part, at: start, text: "" });
    if (move === undefined) continue;
    const parts = move.parts.map((each) => written.get(each));
    put({ start, end: start, text: `${move.before}${parts.join(", ")}${move.after}` });
  }
  closeUpTo(text.length);
  return outer;
}

interface Step {
  readonly start: number;
  readonly rank: number;
  readonly edit?: TextEdit;
  readonly part?: MovedPart;
  readonly move?: Moved;
}

/** At one place: what is put before a part stays there, and what is changed at its beginning is a part of it. */
function inOrder(edits: readonly TextEdit[], moves: readonly Moved[]): Step[] {
  const steps: Step[] = edits.map((edit) => ({ start: edit.start, rank: edit.end > edit.start ? 3 : 0, edit }));
  for (const move of moves) {
    steps.push({ start: move.to, rank: 1, move });
    for (const part of move.parts) steps.push({ start: part.start, rank: 2, part });
  }
  return steps.sort((a, b) => a.start - b.start || a.rank - b.rank);
}
