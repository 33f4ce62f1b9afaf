import { errorBody, servedMethods } from "./registry.ts";

const statusTexts: Readonly<Record<number, string>> = {
  400: "Bad Request",
  405: "Method Not Allowed",
  408: "Request Timeout",
  413: "Content Too Large",
  431: "Request Header Fields Too Large",
};

/** An answer to what never became a request. */
export function rawAnswer(status: number, message: string, field: string): string {
  const body = errorBody("invalid_argument", message, field);
  const head = [
    `HTTP/1.1 ${status} ${statusTexts[status] ?? ""}`,
    "connection: close",
    "content-type: application/json",
    `content-length: ${Buffer.byteLength(body)}`,
    ...(status === 405 ? [`allow: ${servedMethods}`] : []),
  ];
  return `${head.join("\r\n")}\r\n\r\n${body}`;
}
