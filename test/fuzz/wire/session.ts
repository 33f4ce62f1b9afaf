import type { Dice } from "../../sim/dice.ts";
import { mutate } from "../mutate.ts";
import { must, type OpenTarget, type Target } from "../target.ts";
import type { FuzzServer } from "./server.ts";
import { cut, exchange } from "./socket.ts";

/** A wire whose good sessions are known: what a client says in each, message by message. */
export interface SessionWire {
  readonly name: string;
  port(server: FuzzServer): number;
  readonly sessions: readonly (readonly Uint8Array[])[];
  readonly words: readonly string[];
  /**
   * A client that has said all may still be owed an answer that it can no longer be given; the server then waits until
   * nothing was taken for its time for that, which is longer than one here.
   */
  readonly mayLinger?: true;
  /** Writes the length that a message has after its change, so that it is read to its end. */
  mend(message: Buffer): Buffer;
  /** What must hold of all that the server has said. */
  check(received: Buffer): void;
}

interface Case {
  readonly bytes: string;
  readonly cuts: readonly number[];
}

const lingerMs = 1_500;
const sessionsAtOnce = 16;

function make(wire: SessionWire, dice: Dice): Case {
  let messages: Buffer[] = dice.pick(wire.sessions).map((message) => Buffer.from(message));
  const other = dice.pick(dice.pick(wire.sessions));
  for (let changes = dice.below(4); changes > 0; changes--) {
    const at = dice.below(messages.length);
    const given = messages[at]!;
    switch (dice.below(5)) {
      case 0:
        messages.splice(at, 1);
        break;
      case 1:
        messages.splice(at, 0, given);
        break;
      case 2:
        messages.splice(at, 0, Buffer.from(other));
        break;
      default: {
        const changed = Buffer.from(mutate(given, Buffer.from(other), wire.words, 20_000, dice));
        messages[at] = dice.chance(0.75) ? wire.mend(changed) : changed;
      }
    }
    if (messages.length === 0) messages = [Buffer.from(other)];
  }
  let bytes: Buffer = Buffer.concat(messages);
  if (dice.chance(0.15)) bytes = bytes.subarray(0, dice.below(bytes.length + 1));
  const cuts = Array.from({ length: dice.below(4) }, () => dice.below(bytes.length + 1));
  return { bytes: bytes.toString("base64"), cuts };
}

/** Sessions with something wrong in them: each ends, and the server lives on. */
export function sessionTarget(wire: SessionWire): Target {
  return {
    name: wire.name,
    open: async (context): Promise<OpenTarget> => {
      const server = await context.server();
      return {
        inputs: { kind: "made", lanes: sessionsAtOnce, make: (dice) => Buffer.from(JSON.stringify(make(wire, dice))) },
        run: async (input) => {
          const { bytes, cuts } = JSON.parse(input.toString()) as Case;
          const raw = Buffer.from(bytes, "base64");
          const waitMs = wire.mayLinger === true ? lingerMs : undefined;
          const { received, hung } = await exchange(wire.port(server), cut(raw, cuts), { waitMs });
          must(!hung || wire.mayLinger === true, "the server does not close", () => raw.toString("hex"));
          wire.check(received);
          server.checkLogs();
        },
        check: () => server.check(),
        [Symbol.asyncDispose]: async () => {},
      };
    },
  };
}
