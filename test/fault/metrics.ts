import assert from "node:assert/strict";
import { ask } from "../support/http.ts";

/** One number of `/metrics`. */
export async function metric(url: string, name: string): Promise<number> {
  const { text } = await ask(`${url}/metrics`);
  const match = new RegExp(`^${name}(?:\\{[^}]*\\})? ([0-9.e+]+)$`, "m").exec(text);
  assert(match !== null, `${name} is reported`);
  return Number(match[1]);
}
