import type { Logger } from "pino";
import { formatAddress } from "../listener/address.ts";
import type { FastHandler } from "../listener/fast-lane.ts";
import { Listener } from "../listener/listener.ts";
import type { Handler } from "../listener/registry.ts";
import type { ServerConfig } from "./config/config.ts";

/** The hosts of every address that any edge listens on. */
export function listenHosts({ listen, postgresListen, mysqlListen, liveListen }: ServerConfig): string[] {
  return [listen, postgresListen, mysqlListen, liveListen].flatMap((address) =>
    address === "off" ? [] : [address.host],
  );
}

export function openListener(
  config: ServerConfig,
  handler: Handler,
  fast: FastHandler | undefined,
  log: Logger,
): Promise<Listener> {
  return Listener.start({ ...config.listen, ...listenerOptions(config), handler, fast, log });
}

/** Its sessions stay open: few connect at once, and each socket is a file. */
const liveAcceptorsMax = 8;

/** Undefined where it is off, or its default port is taken. */
export async function openLiveListener(
  config: ServerConfig,
  handler: Handler,
  log: Logger,
): Promise<Listener | undefined> {
  const { liveListen } = config;
  if (liveListen === "off") return undefined;
  try {
    const options = listenerOptions(config);
    return await Listener.start({
      ...options,
      limits: { ...options.limits, acceptorsMax: liveAcceptorsMax },
      host: liveListen.host,
      port: liveListen.port,
      handler,
      log,
    });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const where = formatAddress(liveListen);
    if (code !== "EADDRINUSE" || !liveListen.isDefault) {
      throw new Error(`SERVICE_LIVE_LISTEN: can't listen on ${where}: ${(error as Error).message}`, { cause: error });
    }
    log.warn(
      { address: where },
      `${where} is taken, so the Live engine has no port; SERVICE_LIVE_LISTEN gives it another`,
    );
    return undefined;
  }
}

function listenerOptions({ tlsCertFile, tlsKeyFile, tlsNextCertFile, connectionsMax, tlsCheckMs }: ServerConfig) {
  return {
    ...(tlsCertFile === undefined || tlsKeyFile === undefined
      ? {}
      : { tls: { certFile: tlsCertFile, keyFile: tlsKeyFile, nextCertFile: tlsNextCertFile } }),
    limits: { connectionsMax, certificateCheckMs: tlsCheckMs },
  };
}
