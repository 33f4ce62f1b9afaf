import type { CloudEvent } from "../../src/engine/event/cloud-event.ts";
import type { LogHistory, LogWrite } from "./log-history.ts";
import { demand } from "./outcome.ts";
import type { Session } from "./session.ts";

const namespace = "n";
const eventIds = 12;

/** What clients do with CloudEvents: send a few ids again and again. */
export class EventClients {
  readonly #session: Session;
  readonly #history: LogHistory;

  constructor(session: Session, history: LogHistory) {
    this.#session = session;
    this.#history = history;
  }

  async append(): Promise<void> {
    const { dice, world } = this.#session;
    const history = this.#history;
    const nowMs = world.time.wallMs;
    const records = Array.from({ length: dice.between(1, 4) }, () => ({
      key: undefined,
      value: dice.chance(0.8) ? JSON.stringify({ n: dice.below(100) }) : undefined,
      timestampMs: nowMs,
      isTimed: false,
      event: `e${dice.below(eventIds)}`,
    }));
    const write = history.begin(this.#session.takeId(), records);
    const partition = dice.chance(0.2) ? { partition: dice.below(history.partitions.length) } : {};
    const outcome = await this.#session.ask(`events #${write.id} ${records.map(({ event }) => event)}`, [], () =>
      world.engine.events.append({ namespace, stream: history.name, events: eventsOf(write), ...partition }),
    );
    if (outcome.kind === "crash") return history.lose(write);
    if (outcome.kind === "error") return history.refuse(write);
    const { events, token, inFlight } = outcome.value;
    demand(events.length === records.length, () => `${events.length} results for ${records.length} events`);
    for (const [i, { status, partition: at, offset }] of events.entries()) {
      if (status === "in_flight") demand(write.contested.has(i), () => `#${write.id}.${i}: nobody else writes it`);
      else if (status === "duplicate") history.repeat(write, i, { partition: at!, offset: offset! });
      else history.place(write, i, { partition: at!, offset: offset! });
    }
    demand(inFlight === events.some(({ status }) => status === "in_flight"), () => "in_flight");
    for (const { partition: at, offset } of events) {
      const named = token.some(
        (entry) => entry.stream === history.id && entry.partition === at && entry.offset >= offset!,
      );
      demand(at === null || named, () => `#${write.id}: the token does not name ${at}@${offset}`);
    }
    history.acknowledge(write);
    this.#session.share(token);
  }

  /** The events of a partition, as a reader of events gets them. */
  async read(): Promise<void> {
    const { dice, world } = this.#session;
    const history = this.#history;
    const partition = dice.below(history.partitions.length);
    const known = history.next(partition);
    const offset = Math.max(0, known - dice.below(10));
    const read = async () => {
      const names: string[] = [];
      const command = { namespace, stream: history.name, partition, from: { offset }, waitMs: 0, token: [] };
      const { nextOffset, highWatermark } = await world.engine.events.read(command, ({ id, extensions }) => {
        names.push(`${extensions.find(({ name }) => name === "name")?.value} ${id}`);
        return "taken";
      });
      return { names, nextOffset, highWatermark };
    };
    const what = `read events/${partition} from ${offset}`;
    const outcome = await this.#session.ask(what, [], read, history.tokenOf(partition));
    if (outcome.kind !== "answer") return;
    const { names, nextOffset, highWatermark } = outcome.value;
    demand(nextOffset === highWatermark && highWatermark >= known && names.length === highWatermark - offset, () => {
      return `events/${partition}: ${names.length} from ${offset} to ${nextOffset} of ${highWatermark}`;
    });
    for (const [i, text] of names.entries()) {
      const [name, event] = text.split(" ");
      const [id, index] = name!.split(".").map(Number);
      const write = history.writes.get(id!);
      demand(write?.records[index!]?.event === event, () => `events/${partition}@${offset + i} is ${text}`);
      history.place(write!, index!, { partition, offset: offset + i });
    }
  }
}

function eventsOf(write: LogWrite): CloudEvent[] {
  return write.records.map(({ event, value }, i) => ({
    specversion: "1.0",
    id: event!,
    source: "/simulated",
    type: "t",
    subject: undefined,
    time: undefined,
    dataschema: undefined,
    datacontenttype: value === undefined ? undefined : "application/json",
    extensions: [{ name: "name", value: `${write.id}.${i}` }],
    data: value === undefined ? undefined : Buffer.from(value),
  }));
}
