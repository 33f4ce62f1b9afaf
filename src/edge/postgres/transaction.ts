import { PostgresError } from "./error.ts";
import type { TransactionStatus } from "./message/backend.ts";

/** Where a session is between BEGIN and COMMIT. Nothing is written, so there is nothing to undo but settings and cursors. */
export class Transaction {
  #status: TransactionStatus = "I";
  #savepoints: string[] = [];

  get status(): TransactionStatus {
    return this.#status;
  }

  get isOpen(): boolean {
    return this.#status !== "I";
  }

  get hasFailed(): boolean {
    return this.#status === "E";
  }

  begin(): void {
    this.#status = "T";
    this.#savepoints = [];
  }

  end(): void {
    this.#status = "I";
    this.#savepoints = [];
  }

  fail(): void {
    if (this.#status === "T") this.#status = "E";
  }

  savepoint(name: string): void {
    this.#need("SAVEPOINT");
    if (this.#savepoints.length >= 1_000) throw new PostgresError("54000", "too many savepoints");
    this.#savepoints.push(name);
  }

  release(name: string): void {
    this.#need("RELEASE SAVEPOINT");
    this.#savepoints.length = this.#find(name);
  }

  rollbackTo(name: string): void {
    this.#need("ROLLBACK TO SAVEPOINT");
    this.#savepoints.length = this.#find(name) + 1;
    this.#status = "T";
  }

  #need(what: string): void {
    if (!this.isOpen) throw new PostgresError("25P01", `${what} can only be used in transaction blocks`);
  }

  #find(name: string): number {
    const found = this.#savepoints.lastIndexOf(name);
    if (found === -1) throw new PostgresError("3B001", `savepoint "${name}" does not exist`);
    return found;
  }
}
