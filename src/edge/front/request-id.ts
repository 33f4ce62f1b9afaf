import { randomBytes } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";

const requestIdPattern = /^[\x21-\x7e]{1,128}$/;

/** Gives each request the name under which it is answered and logged. */
export type RequestIds = (request: { readonly headers: IncomingHttpHeaders }) => string;

/** The caller's own id where it is printable; else a random prefix for the process and a count. */
export function createRequestIds(): RequestIds {
  const prefix = randomBytes(6).toString("hex");
  let last = 0;
  return (request) => {
    const header = request.headers["x-request-id"];
    if (typeof header === "string" && requestIdPattern.test(header)) return header;
    last++;
    return `${prefix}-${last.toString(36)}`;
  };
}
