import { openLate } from "../wire/late-session.ts";
import type { WireListener } from "../wire/listener.ts";
import { startWire } from "../wire/start.ts";
import type { PostgresOptions } from "./options.ts";

/** Undefined where the wire is off, or its default port is taken. */
export async function startPostgres(options: PostgresOptions): Promise<WireListener | undefined> {
  const { listen, limits = {}, peers, log, bytes } = options;
  const isDraining = () => listener?.isDraining ?? false;
  const listener: WireListener | undefined = await startWire({
    name: "postgres",
    setting: "SERVICE_POSTGRES_LISTEN",
    listen,
    limits,
    peers,
    log,
    bytes,
    open: openLate(async () => (await import("./sessions.ts")).postgresSessions(options, isDraining)),
  });
  return listener;
}
