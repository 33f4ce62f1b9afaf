import { BlockList, isIP, isIPv6 } from "node:net";

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");

const mappedPrefix = "::ffff:";

/** An IPv4 peer of a dual-stack socket shows as `::ffff:a.b.c.d`; this is its plain form. */
export function plainAddress(address: string): string {
  if (address.length > mappedPrefix.length && address.toLowerCase().startsWith(mappedPrefix)) {
    const tail = address.slice(mappedPrefix.length);
    if (isIP(tail) === 4) return tail;
  }
  return address;
}

/** Whether an address, or the host part of a listen address or a URL, is this machine's own and nobody else's. */
export function isLoopback(host: string): boolean {
  if (host === "127.0.0.1" || host === "::1" || host.toLowerCase() === "localhost") return true;
  const address = plainAddress(host.startsWith("[") && host.endsWith("]") ? host.slice(1, -1) : host);
  const version = isIP(address);
  return version !== 0 && loopback.check(address, version === 4 ? "ipv4" : "ipv6");
}

/**
 * What failed attempts are counted by: an IPv4 address, or the first 64 bits of an IPv6 one, since a single host
 * usually has all addresses below those.
 */
export function addressGroup(address: string): string {
  const plain = plainAddress(address);
  if (!isIPv6(plain)) return plain;
  const [head = "", tail] = plain.split("%", 1)[0]!.split("::");
  const first = head === "" ? [] : head.split(":");
  const last = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = tail === undefined ? 0 : Math.max(8 - first.length - last.length, 0);
  const groups = [...first, ...new Array<string>(zeros).fill("0"), ...last];
  return groups
    .slice(0, 4)
    .map((group) => group.toLowerCase().replace(/^0+(?=.)/, ""))
    .join(":");
}
