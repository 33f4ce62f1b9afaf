import { ChildProcesses, type ChildrenOptions } from "../adapter/children/children.ts";
import type { SqlSettings } from "../engine/sql/settings.ts";
import type { SqlProcessData } from "./process/sql-process.ts";

const MiB = 1024 * 1024;
/** What allocators keep of addresses beyond the memory that is in use. */
const unusedBytes = 1024 * MiB;
/** Threads of Node's own pool besides those of statements, which hold one each while they work. */
const poolThreads = 2;
/** Plans of statements and what is read of the store; results are no part of the heap. */
const heapMegabytes = 256;

/** The processes that work on SQL statements. */
export function sqlChildren(
  dataDir: string,
  settings: SqlSettings,
  onLost?: ChildrenOptions["onLost"],
): ChildProcesses {
  const residentBytesMax = settings.memoryBytes + settings.processBytesMax;
  return new ChildProcesses({
    entry: new URL("./process/sql-process.ts", import.meta.url),
    nodeArgs: [`--max-old-space-size=${heapMegabytes}`, "--max-semi-space-size=4"],
    env: { UV_THREADPOOL_SIZE: String(poolThreads + settings.runningMax) },
    data: { dataDir, settings } satisfies SqlProcessData,
    residentBytesMax,
    dataBytesMax: residentBytesMax + unusedBytes,
    ...(onLost === undefined ? {} : { onLost }),
  });
}
