import { isIP } from "node:net";
import { invalid } from "../engine/errors.ts";

export interface Address {
  readonly host: string;
  readonly port: number;
}

/**
 * `host:port`, `[ipv6]:port`, `:port` (every interface) or `port` (loopback only). Port 0 is any free port.
 * `field` names the setting in the error.
 */
export function parseAddress(text: string, field = "listen"): Address {
  const trimmed = text.trim();
  if (trimmed === "") throw invalid(field, "must not be empty; give host:port, :port or port");
  if (/^\d+$/.test(trimmed)) return { host: "127.0.0.1", port: parsePort(trimmed, text, field) };
  const colon = trimmed.lastIndexOf(":");
  if (colon === -1) throw invalid(field, `"${text}" has no port; give host:port`);
  if (isIP(trimmed) === 6) throw invalid(field, `"${text}" is an IPv6 address without a port; give [address]:port`);
  const port = parsePort(trimmed.slice(colon + 1), text, field);
  const host = trimmed.slice(0, colon);
  if (host === "" || host === "*") return { host: "::", port };
  return { host: parseHost(host, text, field), port };
}

/** The address as it is written in a URL: IPv6 in brackets. */
export function formatAddress(address: Address): string {
  return `${isIP(address.host) === 6 ? `[${address.host}]` : address.host}:${address.port}`;
}

function parseHost(host: string, text: string, field: string): string {
  if (host.startsWith("[") || host.endsWith("]")) {
    const bare = unbracket(host);
    if (isIP(bare) !== 6) throw invalid(field, `"${text}" has no IPv6 address between its brackets`);
    return bare;
  }
  if (host.includes(":")) throw invalid(field, `"${text}" has an IPv6 address without brackets; give [address]:port`);
  // A host of digits and dots that is no address would be sent to the resolver and fail there less clearly.
  if (/^[\d.]+$/.test(host) && isIP(host) !== 4) throw invalid(field, `"${host}" is not an IPv4 address`);
  if (!/^[A-Za-z0-9_.-]{1,253}$/.test(host)) throw invalid(field, `"${host}" is not a host name or address`);
  return host;
}

function parsePort(digits: string, text: string, field: string): number {
  const port = /^\d{1,5}$/.test(digits) ? Number(digits) : Number.NaN;
  if (!(port <= 65_535)) throw invalid(field, `"${text}" has no port from 0 to 65535`);
  return port;
}

function unbracket(host: string): string {
  return host.startsWith("[") && host.endsWith("]") ? host.slice(1, -1) : host;
}
