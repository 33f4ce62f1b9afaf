import { readFileSync } from "node:fs";

/** A request with one or more events, and what must become of it. */
export interface RequestVector {
  readonly name: string;
  readonly rule: string;
  readonly request: { headers: [string, string][]; body?: string; body_base64?: string };
  readonly want: {
    mode?: string;
    status?: number;
    field?: string;
    data?: string[];
    events?: unknown[];
    binary?: { headers: Record<string, string>; body: string }[];
    records?: { key: string | null; headers: Record<string, string>; value: string | null }[];
  };
}

/** A record, and the event that readers see in it. */
export interface RecordVector {
  readonly name: string;
  readonly rule: string;
  readonly record: {
    key?: string;
    value?: string;
    value_base64?: string;
    headers: [string, string | null][];
    headers_base64?: [string, string][];
  };
  readonly want: { event: unknown };
}

export function loadVectors<T>(file: string): readonly T[] {
  return JSON.parse(readFileSync(new URL(`../vectors/cloudevents/${file}.json`, import.meta.url), "utf8")) as T[];
}

export function requestBody({ body, body_base64 }: RequestVector["request"]): Buffer {
  return body_base64 === undefined ? Buffer.from(body ?? "") : Buffer.from(body_base64, "base64");
}
