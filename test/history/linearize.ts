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
  /** Whether an operation that is not in the order yet can't be any more, whatever comes; `isDone` tells those that are. */
  isLost?(
    state: State,
    operation: Operation<Input, Output>,
    isDone: (other: Operation<Input, Output>) => boolean,
  ): boolean;
}

/** More states than this are not looked at: a history that needs them is too tangled to decide. */
const statesMax = 2_000_000;

/** No order of the operations explains what clients were told. */
export class NotLinearizable extends Error {}

/**
 * Whether there is one order of the operations, each at a moment between its beginning and its end, in which each answer is
 * the one that the model gives. The search is Wing and Gong's with Lowe's memory of the states that led nowhere. It is made
 * for each object by itself, which is enough: a history is linearizable if it is for each object. Returns the number of states looked at.
 *
 * Operations without an answer are what makes it long, since each may come anywhere or not at all. Those that ask for the same
 * and can happen equally long are one for the search: it takes the one that began first, and counts. And where an order led
 * nowhere, another one with the same answers and state that used up more of them leads nowhere too.
 */
export function checkLinearizable<State, Input, Output>(
  model: Model<State, Input, Output>,
  operations: readonly Operation<Input, Output>[],
): number {
  const byBeginning = [...operations].sort((a, b) => a.beganAt - b.beganAt);
  const search = new Search(
    model,
    byBeginning.filter(({ output }) => output !== undefined),
    alike(byBeginning.filter(({ output }) => output === undefined)),
  );
  return search.run();
}

/** Open operations that do the same and can happen equally long, in the order of their beginnings. */
function alike<Input, Output>(open: readonly Operation<Input, Output>[]): Operation<Input, Output>[][] {
  const groups = Map.groupBy(open, ({ input, endedAt }) => `${endedAt} ${JSON.stringify(input)}`);
  return [...groups.values()];
}

interface Frame<State> {
  readonly state: State;
  /** The first answered operation that is not in the order yet. */
  readonly first: number;
  /** Answered operations after it that are. */
  readonly ahead: ReadonlySet<number>;
  /** How many of each group of open operations are in the order. */
  readonly used: Uint16Array;
  /** The latest beginning in the order: what ended before it can't come after. */
  readonly floor: number;
  readonly choices: readonly Choice[];
  next: number;
}

/** An answered operation, or a group of open ones. */
interface Choice {
  readonly index: number;
  readonly isOpen: boolean;
}

class Search<State, Input, Output> {
  readonly #model: Model<State, Input, Output>;
  readonly #answered: readonly Operation<Input, Output>[];
  readonly #open: readonly (readonly Operation<Input, Output>[])[];
  readonly #places: ReadonlyMap<Operation<Input, Output>, number>;
  /** What was used up of the open operations, by what else was in the order and the state it led to. */
  readonly #seen = new Map<string, Uint16Array[]>();
  #states = 0;
  #furthest: Frame<State> | undefined;

  constructor(
    model: Model<State, Input, Output>,
    answered: readonly Operation<Input, Output>[],
    open: readonly (readonly Operation<Input, Output>[])[],
  ) {
    this.#model = model;
    this.#answered = answered;
    this.#open = open;
    this.#places = new Map(answered.map((operation, i) => [operation, i]));
  }

  run(): number {
    const frames = [this.#startFrame()];
    for (;;) {
      const frame = frames.at(-1);
      if (frame === undefined) throw new NotLinearizable(this.#explain());
      if (frame.first === this.#answered.length) return this.#states;
      const choice = frame.choices[frame.next++];
      if (choice === undefined) {
        frames.pop();
        continue;
      }
      const after = this.#take(frame, choice);
      if (after === undefined) continue;
      if (this.#states > statesMax) throw new Error(`undecided after ${statesMax} states`);
      frames.push(after);
      if (after.first + after.ahead.size > (this.#furthest?.first ?? -1) + (this.#furthest?.ahead.size ?? 0)) {
        this.#furthest = after;
      }
    }
  }

  /** The order with one more operation, unless the model forbids it or the same was tried before. */
  #take(frame: Frame<State>, choice: Choice): Frame<State> | undefined {
    const { index, isOpen } = choice;
    const operation = this.#operation(frame, choice);
    const state = this.#model.step(frame.state, operation.input, operation.output);
    if (state === undefined) return undefined;
    const floor = Math.max(frame.floor, operation.beganAt);
    let { first, ahead, used } = frame;
    if (isOpen) {
      used = used.slice();
      used[index]!++;
    } else {
      const more = new Set(ahead).add(index);
      while (more.delete(first)) first++;
      ahead = more;
    }
    if (this.#wasSeen(`${first} ${sorted(ahead)} ${this.#model.key(state)}`, used)) return undefined;
    const after = this.#frame(state, first, ahead, used, floor);
    return state !== frame.state && this.#isLost(after) ? undefined : after;
  }

  #operation({ used }: Frame<State>, { index, isOpen }: Choice): Operation<Input, Output> {
    return isOpen ? this.#open[index]![used[index]!]! : this.#answered[index]!;
  }

  /** Remembers it if not. */
  #wasSeen(key: string, used: Uint16Array): boolean {
    const before = this.#seen.get(key);
    if (before?.some((each) => each.every((count, i) => count <= used[i]!))) return true;
    this.#states++;
    if (before === undefined) this.#seen.set(key, [used]);
    else before.push(used);
    return false;
  }

  /** Looks at all that is left and not only at what can be next: a read of the end may show early that an order is wrong. */
  #isLost({ state, first, ahead }: Frame<State>): boolean {
    const model = this.#model;
    if (model.isLost === undefined) return false;
    const isDone = (other: Operation<Input, Output>) => {
      const place = this.#places.get(other);
      return place !== undefined && (place < first || ahead.has(place));
    };
    for (let index = first; index < this.#answered.length; index++) {
      if (!ahead.has(index) && model.isLost(state, this.#answered[index]!, isDone)) return true;
    }
    return false;
  }

  #startFrame(): Frame<State> {
    return this.#frame(this.#model.start, 0, new Set(), new Uint16Array(this.#open.length), -Infinity);
  }

  #frame(state: State, first: number, ahead: ReadonlySet<number>, used: Uint16Array, floor: number): Frame<State> {
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
    for (const [index, group] of this.#open.entries()) {
      const next = group[used[index]!];
      if (next !== undefined && next.beganAt <= until && next.endedAt >= floor) choices.push({ index, isOpen: true });
    }
    return { state, first, ahead, used, floor, choices, next: 0 };
  }

  #explain(): string {
    const frame = this.#furthest ?? this.#startFrame();
    const shown = frame.choices.slice(0, 12).map((choice) => {
      const { client, input, output, beganAt, endedAt } = this.#operation(frame, choice);
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
