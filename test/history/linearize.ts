/** What a client did to one object: when it began and ended, what it asked and what it was told. */
export interface Operation<Input, Output> {
  readonly client: string;
  readonly input: Input;
  /** Undefined: no answer came, or one that leaves it open. It may have happened, at any moment of its interval. */
  readonly output: Output | undefined;
  readonly beganAt: number;
  /** Without an answer: the moment after which it can't happen any more, such as the end of the process. */
  readonly endedAt: number;
}

/** An object as one that does one thing at a time. */
export interface Model<State, Input, Output> {
  readonly start: State;
  /** The state after an operation that was answered so, or undefined if it can't be. */
  step(state: State, input: Input, output: Output | undefined): State | undefined;
  /** Tells states apart. */
  key(state: State): string;
  show(input: Input, output: Output | undefined): string;
}

/** More states than this are not looked at: a history that needs them is too tangled to decide. */
const statesMax = 2_000_000;

/** No order of the operations explains what clients were told. */
export class NotLinearizable extends Error {}

/**
 * Whether there is one order of the operations, each at a moment between its beginning and its end, in which each answer is
 * the one that the model gives. The search is Wing and Gong's with Lowe's memory of the states that led nowhere. It is made
 * for each object by itself, which is enough: a history is linearizable if it is for each object. Returns the number of states looked at.
 */
export function checkLinearizable<State, Input, Output>(
  model: Model<State, Input, Output>,
  operations: readonly Operation<Input, Output>[],
): number {
  const byBeginning = [...operations].sort((a, b) => a.beganAt - b.beganAt);
  const search = new Search(
    model,
    byBeginning.filter(({ output }) => output !== undefined),
    byBeginning.filter(({ output }) => output === undefined),
  );
  return search.run();
}

interface Frame<State> {
  readonly state: State;
  /** The first answered operation that is not in the order yet. */
  readonly first: number;
  /** Answered operations after it that are. */
  readonly ahead: ReadonlySet<number>;
  /** Open operations that are in the order. */
  readonly opened: ReadonlySet<number>;
  /** The latest beginning in the order: what ended before it can't come after. */
  readonly floor: number;
  readonly choices: readonly Choice[];
  next: number;
}

interface Choice {
  readonly index: number;
  readonly isOpen: boolean;
}

class Search<State, Input, Output> {
  readonly #model: Model<State, Input, Output>;
  readonly #answered: readonly Operation<Input, Output>[];
  readonly #open: readonly Operation<Input, Output>[];
  readonly #seen = new Set<string>();
  #furthest: Frame<State> | undefined;

  constructor(
    model: Model<State, Input, Output>,
    answered: readonly Operation<Input, Output>[],
    open: readonly Operation<Input, Output>[],
  ) {
    this.#model = model;
    this.#answered = answered;
    this.#open = open;
  }

  run(): number {
    const frames = [this.#frame(this.#model.start, 0, new Set(), new Set(), -Infinity)];
    for (;;) {
      const frame = frames.at(-1);
      if (frame === undefined) throw new NotLinearizable(this.#explain());
      if (frame.first === this.#answered.length) return this.#seen.size;
      const choice = frame.choices[frame.next++];
      if (choice === undefined) {
        frames.pop();
        continue;
      }
      const after = this.#take(frame, choice);
      if (after === undefined) continue;
      if (this.#seen.size > statesMax) throw new Error(`undecided after ${statesMax} states`);
      frames.push(after);
      if (after.first + after.ahead.size > (this.#furthest?.first ?? -1) + (this.#furthest?.ahead.size ?? 0)) {
        this.#furthest = after;
      }
    }
  }

  /** The order with one more operation, unless the model forbids it or the same was tried before. */
  #take(frame: Frame<State>, { index, isOpen }: Choice): Frame<State> | undefined {
    const operation = (isOpen ? this.#open : this.#answered)[index]!;
    const state = this.#model.step(frame.state, operation.input, operation.output);
    if (state === undefined) return undefined;
    const floor = Math.max(frame.floor, operation.beganAt);
    let { first } = frame;
    const ahead = new Set(frame.ahead);
    const opened = new Set(frame.opened);
    if (isOpen) opened.add(index);
    else ahead.add(index);
    while (ahead.delete(first)) first++;
    const key = `${first} ${sorted(ahead)} ${sorted(opened)} ${this.#model.key(state)}`;
    if (this.#seen.has(key)) return undefined;
    this.#seen.add(key);
    return this.#frame(state, first, ahead, opened, floor);
  }

  #frame(
    state: State,
    first: number,
    ahead: ReadonlySet<number>,
    opened: ReadonlySet<number>,
    floor: number,
  ): Frame<State> {
    const choices: Choice[] = [];
    // An operation can be next unless another one that is not in the order had ended before it began.
    let until = Infinity;
    for (let index = first; index < this.#answered.length; index++) {
      const { beganAt, endedAt } = this.#answered[index]!;
      if (beganAt > until) break;
      if (ahead.has(index)) continue;
      until = Math.min(until, endedAt);
      choices.push({ index, isOpen: false });
    }
    for (const [index, { beganAt, endedAt }] of this.#open.entries()) {
      if (beganAt > until) break;
      if (!opened.has(index) && endedAt >= floor) choices.push({ index, isOpen: true });
    }
    return { state, first, ahead, opened, floor, choices, next: 0 };
  }

  #explain(): string {
    const frame = this.#furthest ?? this.#frame(this.#model.start, 0, new Set(), new Set(), -Infinity);
    const shown = frame.choices.slice(0, 12).map(({ index, isOpen }) => {
      const { client, input, output, beganAt, endedAt } = (isOpen ? this.#open : this.#answered)[index]!;
      const times = `${beganAt.toFixed(1)} to ${endedAt.toFixed(1)} ms`;
      return `  ${client}, ${times}: ${this.#model.show(input, output)}`;
    });
    const done = frame.first + frame.ahead.size;
    return [
      `no order explains the answers; ${done} of ${this.#answered.length} fit, after which the state is`,
      `  ${this.#model.key(frame.state).slice(0, 400)}`,
      "and none of these leads on:",
      ...shown,
    ].join("\n");
  }
}

function sorted(set: ReadonlySet<number>): string {
  return [...set].sort((a, b) => a - b).join(",");
}
