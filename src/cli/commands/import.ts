import { randomBytes } from "node:crypto";
import { rmSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { ServiceError } from "../../client/index.ts";
import { type Checkpoint, difference, type ImportIdentity, readCheckpoint, saveCheckpoint } from "../checkpoint.ts";
import { CommandFailure, UsageError } from "../command.ts";
import type { Context } from "../context.ts";
import { type ImportTarget, openTarget } from "../import-target.ts";
import { Progress } from "../progress.ts";
import { atStart, formatOf, openRows, type Position, type Row, type RowSource } from "../rows.ts";
import type { Run } from "../spec.ts";

const importLimits = {
  batchRows: 1_000,
  batchRowsMax: 10_000,
  /** Of the rows' text; a request may have 16 MiB, and base64 takes a third more. */
  batchBytes: 6 * 1024 * 1024,
  /** The server remembers a batch's key for a day; a batch sent longer ago may be unknown to it again. */
  keyMs: 23 * 3_600_000,
} as const;

/** A server that restarts, or whose indexes are behind, is waited for this many times, up to 5 s each. */
const retry = { attemptsMax: 60, waitMs: 100, waitMsMax: 5_000 };

export const importRows: Run = async (context) => {
  const file = context.arg(0);
  const format = formatOf(file, context.text("format"));
  const batchRows = context.whole("batch", 1, importLimits.batchRowsMax) ?? importLimits.batchRows;
  let progress: Progress | undefined;
  const onRetry = (error: ServiceError, ms: number) =>
    progress?.note(`${error.reason}: next attempt in ${(ms / 1000).toFixed(1)} s`);
  const client = context.clientWith({ retry, onRetry });
  const target = await openTarget(context, client);
  const source = file === "-" ? undefined : fileIdentity(file);
  const identity: ImportIdentity = {
    instance: (await client.instance(context)).instanceId,
    namespace: context.namespaceName,
    target: target.name,
    source: source ?? "standard input",
    format,
    options: `${target.options} ${batchRows}`,
  };
  const checkpointFile = checkpointPath(context, file, target);
  const { start, skipsBatch } = begin(context, checkpointFile, identity, target);
  const rows = openRows(file, format, context.io.stdin);
  progress = new Progress(context.io.stderr, "rows", start.position.rows);
  let end: Position;
  try {
    end = start.done
      ? start.position
      : await run({ target, rows, batchRows, progress, file: checkpointFile, skipsBatch }, start, context.signal);
  } finally {
    progress.end();
  }
  const imported = end.rows - start.position.rows;
  const rate = Math.round(progress.rate(end.rows));
  await context.out.value({ imported, resumed_after: start.position.rows, rows: end.rows }, () => {
    if (start.done)
      return `${file} is already in ${target.name} (${end.rows} ${end.rows === 1 ? "row" : "rows"}); --restart imports it again`;
    const resumed = start.position.rows === 0 ? "" : `, after ${start.position.rows} from an earlier run`;
    return `imported ${imported} ${imported === 1 ? "row" : "rows"} into ${target.name}${resumed} (${rate}/s)`;
  });
  return undefined;
};

function fileIdentity(file: string): string {
  try {
    const { size, mtimeMs } = statSync(file);
    return `${resolve(file)} ${size} ${Math.floor(mtimeMs)}`;
  } catch (error) {
    throw new UsageError(`${file} can't be read: ${(error as Error).message}`);
  }
}

/** Beside the file; standard input has none unless it is asked for. */
function checkpointPath(context: Context, file: string, target: ImportTarget): string | undefined {
  const option = context.text("checkpoint");
  if (option !== undefined || file === "-") return option;
  return `${file}.${context.namespaceName}.${target.name.replace(" ", "-")}.checkpoint`;
}

/** Where to go on, which is the start for a new import; and whether the batch there is stored already. */
function begin(
  context: Context,
  file: string | undefined,
  identity: ImportIdentity,
  target: ImportTarget,
): { readonly start: Checkpoint; readonly skipsBatch: boolean } {
  if (file !== undefined && context.flag("restart")) rmSync(file, { force: true });
  const found = file === undefined ? undefined : readCheckpoint(file);
  if (found === undefined) {
    const id = randomBytes(12).toString("hex");
    const fresh: Checkpoint = { version: 1, id, identity, position: atStart, savedAtMs: Date.now(), done: false };
    // On the disk before anything is sent: the keys of what is sent come from it.
    if (file !== undefined) saveCheckpoint(file, fresh);
    return { start: fresh, skipsBatch: false };
  }
  const other = difference(found.identity, identity);
  if (other !== undefined) {
    const message = `the checkpoint ${file} is of another import: its ${other} was ${found.identity[other as keyof ImportIdentity]}`;
    throw new CommandFailure("failed_precondition", message, "--restart starts over; --checkpoint names another file");
  }
  if (target.repeatable || found.done || Date.now() - found.savedAtMs < importLimits.keyMs) {
    return { start: found, skipsBatch: false };
  }
  const assume = context.text("assume");
  if (assume !== undefined) {
    const skipsBatch = context.choice("assume", ["stored", "missing"], "missing") === "stored";
    return { start: { ...found, id: randomBytes(12).toString("hex") }, skipsBatch };
  }
  const message = `the import stopped at row ${found.position.rows} more than a day ago, and whether the rows right after it were stored can't be known any more`;
  const hint =
    "look at the end of the stream: --assume stored goes on after the next batch, --assume missing writes it";
  throw new CommandFailure("failed_precondition", message, hint);
}

interface Work {
  readonly target: ImportTarget;
  readonly rows: RowSource;
  readonly batchRows: number;
  readonly progress: Progress;
  readonly file: string | undefined;
  /** The first batch is stored already. */
  readonly skipsBatch: boolean;
}

/**
 * Sends batch after batch, and reads the next while one is under way. What a batch holds follows from where it starts,
 * so that one which is sent again after a crash is the same, under the same key.
 */
async function run(work: Work, start: Checkpoint, signal: AbortSignal): Promise<Position> {
  const { target, rows, batchRows, progress, file } = work;
  let position = start.position;
  const save = (done: boolean) => {
    if (file !== undefined) saveCheckpoint(file, { ...start, position, savedAtMs: Date.now(), done });
  };
  const send = async (batch: readonly Row[], from: Position) => {
    const isStored = work.skipsBatch && from === start.position;
    if (!isStored) {
      await target.send(batch, `import-${start.id}-${from.rows}`).catch((error: unknown) => {
        throw atLine(error, batch);
      });
    }
    position = batch.at(-1)!.after;
    save(false);
    progress.update(position.rows, rows.share(position));
  };
  let sending: Promise<void> = Promise.resolve();
  let from = position;
  for await (const batch of batches(rows.read(position), batchRows)) {
    await sending;
    signal.throwIfAborted();
    sending = send(batch, from);
    // Awaited in the next round; until then its failure is nobody's but ours.
    sending.catch(() => {});
    from = batch.at(-1)!.after;
  }
  await sending;
  save(true);
  return position;
}

async function* batches(rows: AsyncIterable<Row>, rowsMax: number): AsyncGenerator<Row[]> {
  let batch: Row[] = [];
  let bytes = 0;
  for await (const row of rows) {
    // A row that would make the batch too large starts the next one.
    if (batch.length > 0 && bytes + row.text.length > importLimits.batchBytes) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(row);
    bytes += row.text.length;
    if (batch.length < rowsMax) continue;
    yield batch;
    batch = [];
    bytes = 0;
  }
  if (batch.length > 0) yield batch;
}

/** The server names the place in its request; the user knows the line. */
function atLine(error: unknown, batch: readonly Row[]): unknown {
  if (!(error instanceof ServiceError)) return error;
  const place = /^(?:ops|records)\[(\d+)\]/.exec(error.field ?? error.message);
  const row = place === null ? undefined : batch[Number(place[1])];
  if (row === undefined) return error;
  const { reason, status, details, requestId } = error;
  return new ServiceError(reason, `line ${row.line}: ${error.message}`, { status, details, requestId });
}
