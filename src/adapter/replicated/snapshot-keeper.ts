import type { Clock } from "../../port/clock.ts";
import type { Random } from "../../port/random.ts";
import type { SharedLog } from "../../port/shared-log.ts";
import type { Store } from "../../port/store.ts";
import type { Member } from "./member.ts";
import { type MarkReader, Pace, type SnapshotManifest, type Snapshots } from "./snapshot.ts";

export interface SnapshotKeeperOptions {
  readonly snapshots: Snapshots;
  readonly view: Store;
  readonly markOf: MarkReader;
  readonly log: SharedLog;
  readonly member: Pick<Member, "nodes" | "owner" | "isAlive">;
  readonly node: string;
  readonly clock: Clock;
  readonly random: Random;
  /** A snapshot is made when the newest one is that old, and there is something new. */
  readonly intervalMs: number;
  readonly bytesPerSecondMax?: number;
  readonly onMade?: (manifest: SnapshotManifest, ms: number) => void;
  readonly onError: (error: unknown) => void;
}

const bytesPerSecondDefault = 32 * 1024 * 1024;
const lookMsMax = 30_000;
/** Those that stay. Should the newest turn out damaged, a node starts from the one before it, and the log still reaches back to that. */
const keptMin = 2;
/** How much longer the next node waits for the one before it to make the snapshot. */
const rankShare = 1 / 4;

/**
 * Makes snapshots from time to time, deletes old ones and trims the log below those that stay. Every node does it: standbys first, then the
 * owner. Where two make one at the same time, there is one more.
 */
export class SnapshotKeeper {
  readonly #options: SnapshotKeeperOptions;
  readonly #closing = new AbortController();
  readonly #running: Promise<void>;
  #newest: string | undefined;
  #position = 0;
  /** When this node saw the newest for the first time. */
  #seenMs: number;

  constructor(options: SnapshotKeeperOptions) {
    this.#options = options;
    this.#seenMs = options.clock.steadyMs();
    this.#running = this.#run();
  }

  /** The position of the newest snapshot that this node knows, 0 where there is none, and how long it has known it. */
  get newest(): { readonly position: number; readonly ageMs: number } {
    return { position: this.#position, ageMs: this.#options.clock.steadyMs() - this.#seenMs };
  }

  async #run(): Promise<void> {
    const { clock, intervalMs, onError } = this.#options;
    while (!this.#closing.signal.aborted) {
      await clock.sleep(Math.min(lookMsMax, intervalMs / 4), this.#closing.signal);
      if (this.#closing.signal.aborted) return;
      await this.#look().catch(onError);
    }
  }

  async #look(): Promise<void> {
    const { snapshots, view, markOf, clock, intervalMs } = this.#options;
    const [newest] = await snapshots.list();
    if (newest?.name !== this.#newest) {
      this.#newest = newest?.name;
      this.#position = newest?.position ?? 0;
      this.#seenMs = clock.steadyMs();
    }
    const waitMs = intervalMs * (1 + this.#rank() * rankShare);
    if (clock.steadyMs() - this.#seenMs < waitMs) return;
    if ((markOf(view)?.applied ?? 0) > this.#position) await this.#make();
  }

  #rank(): number {
    const { member, node } = this.#options;
    const owner = member.owner?.node;
    if (node === owner) return member.nodes.filter((each) => each.node !== node && member.isAlive(each.node)).length;
    return member.nodes.filter((each) => each.node !== owner && each.node < node && member.isAlive(each.node)).length;
  }

  async #make(): Promise<void> {
    const { snapshots, view, markOf, clock, random, bytesPerSecondMax = bytesPerSecondDefault, onMade } = this.#options;
    const beganMs = clock.steadyMs();
    const unique = Buffer.from(random.bytes(6)).toString("hex");
    const pace = new Pace(clock, bytesPerSecondMax, this.#closing.signal);
    const manifest = await snapshots.write(view, markOf, unique, pace);
    if (manifest === undefined) return;
    onMade?.(manifest, clock.steadyMs() - beganMs);
    await this.#tidy();
  }

  /** What a deposed or late node does here is harmless: it only touches what is older than two snapshots that are there. */
  async #tidy(): Promise<void> {
    const { snapshots, log } = this.#options;
    const whole: SnapshotManifest[] = [];
    for (const { name } of await snapshots.list()) {
      const manifest = await snapshots.manifest(name);
      if (manifest !== undefined) whole.push(manifest);
      if (whole.length === keptMin) break;
    }
    const oldest = whole[keptMin - 1];
    if (oldest === undefined) return;
    await snapshots.deleteBefore(oldest.position);
    await log.trim(oldest.cursor.next);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#running;
  }
}
