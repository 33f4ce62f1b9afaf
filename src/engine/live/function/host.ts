import type { Clock } from "../../../port/clock.ts";
import type { Principal } from "../../auth/principal.ts";
import { EngineError } from "../../errors.ts";
import { runInTurns } from "../../turns.ts";
import { documentText } from "../document.ts";
import { FunctionFault } from "../fault.ts";
import type { Transaction } from "../transaction.ts";
import type { LiveValue } from "../value.ts";
import type { Operation } from "./messages.ts";

/** The tables as one run of a function reaches them. */
export class RunHost {
  readonly #transaction: Transaction;
  readonly #kind: "query" | "mutation";
  readonly #principal: Principal;
  readonly #clock: Clock;
  /** A limit that was passed ends the run, whatever the function makes of the error. */
  fault: unknown;
  /** The function has asked who calls it. */
  readsPrincipal = false;

  constructor(transaction: Transaction, kind: "query" | "mutation", principal: Principal, clock: Clock) {
    this.#transaction = transaction;
    this.#kind = kind;
    this.#principal = principal;
    this.#clock = clock;
  }

  async answer(text: string): Promise<string> {
    const answers: string[] = [];
    for (const operation of JSON.parse(text) as Operation[]) {
      try {
        if (typeof operation !== "object" || operation === null) throw unknownOperation();
        const value = this.#do(operation);
        answers.push(`{"value":${typeof value === "string" ? value : await value}}`);
      } catch (error) {
        answers.push(JSON.stringify({ error: this.#messageOf(error) }));
      }
    }
    return `[${answers.join()}]`;
  }

  /** What the function sees of an error. */
  #messageOf(error: unknown): string {
    if (error instanceof FunctionFault && error.kind === "thrown") return error.message;
    const isOfFunction = error instanceof EngineError && /^(invalid_argument|not_found)$/.test(error.reason);
    if (!isOfFunction) this.fault ??= error;
    return isOfFunction || error instanceof FunctionFault ? error.message : "internal error";
  }

  /** The value as JSON; a promise where it may take more than this turn. */
  #do(operation: Operation): string | Promise<string> {
    const transaction = this.#transaction;
    switch (operation.op) {
      case "get": {
        const found = transaction.get("id", operation.id);
        return found === undefined ? "null" : documentText(found);
      }
      case "scan":
        return this.#scan(operation);
      case "count":
        return runInTurns(transaction.count(operation), this.#clock).then(String);
      case "principal":
        return JSON.stringify(this.#caller());
      default:
        if (this.#kind === "query") throw new FunctionFault("thrown", "a query can't write");
        return JSON.stringify(this.#write(operation));
    }
  }

  async #scan(operation: Extract<Operation, { op: "scan" }>): Promise<string> {
    const scan = this.#transaction.scan(checkedScan(operation));
    const { documents, cursor = null } = await runInTurns(scan, this.#clock);
    return `{"documents":[${documents.map(documentText).join()}],"cursor":${JSON.stringify(cursor)}}`;
  }

  #write(operation: Extract<Operation, { op: "insert" | "patch" | "replace" | "delete" }>): LiveValue {
    const transaction = this.#transaction;
    switch (operation.op) {
      case "insert":
        return transaction.insert("document", operation.table, operation.document);
      case "patch": {
        const { id, patch, unset } = operation;
        transaction.patch("id", id, { patch, patchPath: "patch", unset });
        return null;
      }
      case "replace":
        transaction.replace("id", operation.id, operation.document, "document");
        return null;
      case "delete":
        transaction.remove("id", operation.id);
        return null;
      default:
        throw unknownOperation();
    }
  }

  #caller(): LiveValue {
    this.readsPrincipal = true;
    const { id, displayName, email } = this.#principal;
    return { id, displayName, ...(email === undefined ? {} : { email }) };
  }
}

function unknownOperation(): FunctionFault {
  return new FunctionFault("thrown", "there is no such operation");
}

function checkedScan(operation: Extract<Operation, { op: "scan" }>) {
  const { limit } = operation;
  const isCount = typeof limit === "number" && Number.isSafeInteger(limit) && limit > 0;
  if (!isCount) throw new FunctionFault("thrown", "limit: must be an integer from 1");
  return operation;
}
