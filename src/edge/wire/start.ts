import { formatAddress } from "../../listener/address.ts";
import type { WireAddress } from "./address.ts";
import { WireListener, type WireOptions } from "./listener.ts";

export interface WireStart extends Omit<WireOptions, "host" | "port"> {
  readonly listen: WireAddress;
  /** The setting that says where, for the messages. */
  readonly setting: string;
}

/** Starts a wire where it is to listen. A default port that is taken is a warning, and the server does without the wire. */
export async function startWire({ listen, setting, ...options }: WireStart): Promise<WireListener | undefined> {
  if (listen === "off") return undefined;
  try {
    return await WireListener.start({ ...options, host: listen.host, port: listen.port });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const where = formatAddress(listen);
    if (code !== "EADDRINUSE" || !listen.isDefault) {
      throw new Error(`${setting}: can't listen on ${where}: ${(error as Error).message}`, { cause: error });
    }
    options.log.warn(
      { wire: options.name, address: where },
      `${where} is taken, so the ${options.name} wire is off; ${setting} gives it another address`,
    );
    return undefined;
  }
}
