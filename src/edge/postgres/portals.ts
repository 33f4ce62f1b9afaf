import type { ByteAccount } from "../wire/byte-budget.ts";
import { PostgresError } from "./error.ts";
import { postgresLimits } from "./limits.ts";
import type { Portal } from "./portal.ts";

/** The portals of a session. A cursor is a portal that a statement has made. */
export class Portals {
  readonly #portals = new Map<string, Portal>();
  readonly #cursors = new Set<string>();
  readonly #account: ByteAccount;

  constructor(account: ByteAccount) {
    this.#account = account;
  }

  get size(): number {
    return this.#portals.size;
  }

  /** Those that hold a statement of the engine. */
  get running(): number {
    let count = 0;
    for (const portal of this.#portals.values()) if (portal.isRunning) count++;
    return count;
  }

  portal(name: string): Portal {
    const found = this.#portals.get(name);
    if (found === undefined) throw new PostgresError("34000", `portal "${name}" does not exist`);
    return found;
  }

  cursor(name: string): Portal {
    const found = this.#portals.get(name);
    if (found === undefined) throw new PostgresError("34000", `cursor "${name}" does not exist`);
    return found;
  }

  async add(name: string, portal: Portal, as: "portal" | "cursor"): Promise<void> {
    if (name === "") await this.close(name);
    else if (this.#portals.has(name)) {
      await portal[Symbol.asyncDispose]();
      throw new PostgresError("42P03", `cursor "${name}" already exists`);
    }
    if (this.#portals.size >= postgresLimits.portalsMax) {
      await portal[Symbol.asyncDispose]();
      throw new PostgresError("54000", `a session has at most ${postgresLimits.portalsMax} portals and cursors`);
    }
    this.#portals.set(name, portal);
    try {
      this.count();
    } catch (error) {
      await this.close(name);
      throw error;
    }
    if (as === "cursor") this.#cursors.add(name);
  }

  async close(name: string): Promise<void> {
    const portal = this.#portals.get(name);
    this.#portals.delete(name);
    this.#cursors.delete(name);
    this.#account.hold(this.#bytes);
    await portal?.[Symbol.asyncDispose]();
  }

  /** After one has grown; throws where they take too much now. */
  count(): void {
    const { portalBytesMax } = postgresLimits;
    if (this.#bytes > portalBytesMax) {
      throw new PostgresError("54000", `the portals and cursors of a session take more than ${portalBytesMax} bytes`);
    }
    if (this.#account.hold(this.#bytes)) return;
    throw new PostgresError("53200", "the prepared statements and cursors of all sessions take too many bytes");
  }

  get #bytes(): number {
    let bytes = 0;
    for (const portal of this.#portals.values()) bytes += portal.bytes;
    return bytes;
  }

  async closeCursor(name: string): Promise<void> {
    this.cursor(name);
    await this.close(name);
  }

  async closeCursors(): Promise<void> {
    for (const name of [...this.#cursors]) await this.close(name);
  }

  async closeUnheld(): Promise<void> {
    for (const [name, { isHeld }] of [...this.#portals]) if (!isHeld) await this.close(name);
  }

  async closeAll(): Promise<void> {
    for (const name of [...this.#portals.keys()]) await this.close(name);
  }
}
