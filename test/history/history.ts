import { NotSent } from "./call.ts";
import { type DocumentInput, type DocumentOutput, documentModel, settleWrites } from "./document-model.ts";
import { checkLinearizable, NotLinearizable } from "./linearize.ts";
import { type PartitionInput, type PartitionOutput, partitionModel, settleAppends } from "./partition-model.ts";

interface Recorded<Input, Output> {
  readonly client: string;
  readonly input: Input;
  output: Output | undefined;
  readonly beganAt: number;
  endedAt: number;
}

/** What was done to one kind of object, object by object. */
export class Recorder<Input, Output> {
  readonly objects = new Map<string, Recorded<Input, Output>[]>();
  answered = 0;

  /** Does one operation; `act` returns what the client was told, or undefined where that leaves it open. */
  async record(
    object: string,
    client: string,
    input: Input,
    act: () => Promise<Output | undefined>,
  ): Promise<Output | undefined> {
    const operation: Recorded<Input, Output> = {
      client,
      input,
      output: undefined,
      beganAt: performance.now(),
      endedAt: Infinity,
    };
    const operations = this.objects.get(object) ?? [];
    this.objects.set(object, operations);
    operations.push(operation);
    let output: Output | undefined;
    try {
      output = await act();
    } catch (error) {
      if (!(error instanceof NotSent)) throw error;
      operations.splice(operations.indexOf(operation), 1);
    }
    if (output === undefined) return undefined;
    this.answered++;
    operation.output = output;
    operation.endedAt = performance.now();
    return output;
  }

  /** The process is gone: what is open now can't happen any more. */
  processEnded(): void {
    const now = performance.now();
    for (const operations of this.objects.values()) {
      for (const each of operations) if (each.output === undefined && each.endedAt === Infinity) each.endedAt = now;
    }
  }

  get open(): number {
    return [...this.objects.values()].flat().filter(({ output }) => output === undefined).length;
  }
}

/** In place of a time that JSON has no word for. */
const never = "never";

interface KeptHistory {
  readonly partitions: [string, Recorded<PartitionInput, PartitionOutput>[]][];
  readonly documents: [string, Recorded<DocumentInput, DocumentOutput>[]][];
}

/** All that the clients of one server did. */
export class History {
  readonly partitions = new Recorder<PartitionInput, PartitionOutput>();
  readonly documents = new Recorder<DocumentInput, DocumentOutput>();

  processEnded(): void {
    this.partitions.processEnded();
    this.documents.processEnded();
  }

  /** As text from which `from` makes the same history. */
  toText(): string {
    const objects = (recorder: Recorder<unknown, unknown>) => [...recorder.objects];
    const kept = { partitions: objects(this.partitions), documents: objects(this.documents) };
    return JSON.stringify(kept, (_key, value) => (value === Infinity ? never : value));
  }

  static from(text: string): History {
    const kept = JSON.parse(text, (_key, value) => (value === never ? Infinity : value)) as KeptHistory;
    const history = new History();
    for (const [name, operations] of kept.partitions) history.partitions.objects.set(name, operations);
    for (const [name, operations] of kept.documents) history.documents.objects.set(name, operations);
    return history;
  }

  /** After everything was read a last time. Returns the number of states that the search looked at. */
  check(): number {
    let states = 0;
    for (const [name, operations] of this.partitions.objects) {
      const last = operations.findLast(({ input }) => input.kind === "fetch" && input.offset === 0)?.output;
      if (last?.kind !== "page" || last.values.length < last.end) throw new Error(`${name} has no last read`);
      states += named(name, () => checkLinearizable(partitionModel, settleAppends(operations, last.values)));
    }
    for (const [name, operations] of this.documents.objects) {
      states += named(name, () => checkLinearizable(documentModel, settleWrites(operations)));
    }
    return states;
  }
}

function named<T>(name: string, check: () => T): T {
  try {
    return check();
  } catch (error) {
    if (error instanceof NotLinearizable) throw new NotLinearizable(`${name}: ${error.message}`);
    throw error;
  }
}
