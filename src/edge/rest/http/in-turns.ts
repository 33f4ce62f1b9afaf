import { setTimeout as sleep } from "node:timers/promises";
import { Pauses, turnMs } from "../../../engine/turns.ts";
import { nextTurn } from "../../../port/next-turn.ts";

/** The share of one piece of work that can wait in a turn of the event loop. */
export class TurnShare {
  readonly #pauses = new Pauses(sleep);
  #untilMs = performance.now() + turnMs;

  get isOver(): boolean {
    return performance.now() >= this.#untilMs;
  }

  /** Resolves in the next turn, or later where short requests come. */
  async giveWay(): Promise<void> {
    await this.#pauses.giveWay();
    this.#untilMs = performance.now() + turnMs;
  }
}

/** Maps a long list, giving everything else that is ready a turn now and then. */
export async function inTurns<T, U>(list: readonly T[], map: (entry: T, i: number) => U): Promise<U[]> {
  if (list.length === 1) return [map(list[0]!, 0)];
  const mapped: U[] = [];
  const turn = new TurnShare();
  for (const [i, entry] of list.entries()) {
    mapped.push(map(entry, i));
    if (turn.isOver) await turn.giveWay();
  }
  return mapped;
}

/** Of the bytes that are put together, each piece at least. */
const partLength = 64 * 1024;

/** Puts the parts of a long text together, giving everything else that is ready a turn now and then. */
export async function bytesInTurns(parts: Iterable<string>): Promise<Buffer[]> {
  const buffers: Buffer[] = [];
  let text = "";
  let untilMs = performance.now() + turnMs;
  for (const part of parts) {
    text += part;
    if (text.length >= partLength) {
      buffers.push(Buffer.from(text));
      text = "";
    }
    if (performance.now() < untilMs) continue;
    await nextTurn();
    untilMs = performance.now() + turnMs;
  }
  buffers.push(Buffer.from(text));
  return buffers;
}
