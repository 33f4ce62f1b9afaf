import { type Address, parseAddress } from "../../listener/address.ts";

/** Where a wire listens, or that it does not. A default one may be taken by another program; one that was set may not. */
export type WireAddress = "off" | (Address & { readonly isDefault: boolean });

export function defaultWireAddress(port: number): WireAddress {
  return { host: "127.0.0.1", port, isDefault: true };
}

export function parseWireAddress(text: string, field: string): WireAddress {
  if (text.trim().toLowerCase() === "off") return "off";
  return { ...parseAddress(text, field), isDefault: false };
}
