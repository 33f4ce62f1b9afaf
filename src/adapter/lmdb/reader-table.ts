import { closeSync, fstatSync, openSync, writeSync } from "node:fs";

/** The unit in which file systems and memory maps give out room. */
const pageBytes = 4096;
/** What the table of LMDB takes for the readers that the store allows. */
const tableBytes = 9 * pageBytes;

/**
 * Takes the room of LMDB's table of readers up front. The table is a sparse file that is mapped into memory: a page of it
 * that is first touched when the device is full would end the process by a signal. Only before the store is opened, and
 * where no other process has it open: closing the file gives up every lock that the process has on it. What it held
 * is made anew by the one that opens it.
 */
export function reserveReaderTable(file: string): void {
  const descriptor = openSync(file, "a+");
  try {
    const { size } = fstatSync(descriptor);
    if (size < tableBytes) writeSync(descriptor, Buffer.alloc(tableBytes - size));
  } finally {
    closeSync(descriptor);
  }
}
