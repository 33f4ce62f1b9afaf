import { postgresLimits } from "./limits.ts";

/**
 * What a session answered to simple queries of literals alone, such as the `select 1` by which pools see whether a
 * connection lives: the same bytes bring the same answer, whatever the session's settings are.
 */
export class KnownAnswers {
  /** By the bytes of the message's body, as characters. */
  readonly #answers = new Map<string, Uint8Array>();

  find(body: Buffer): Uint8Array | undefined {
    if (this.#answers.size === 0 || body.length > postgresLimits.knownQueryBytesMax) return undefined;
    return this.#answers.get(body.latin1Slice());
  }

  keep(query: string, answer: Uint8Array): void {
    const body = Buffer.from(`${query}\0`);
    if (body.length > postgresLimits.knownQueryBytesMax) return;
    if (this.#answers.size >= postgresLimits.knownAnswersMax) {
      this.#answers.delete(this.#answers.keys().next().value!);
    }
    this.#answers.set(body.latin1Slice(), answer);
  }
}
