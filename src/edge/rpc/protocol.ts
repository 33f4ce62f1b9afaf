/** How a caller speaks, told from its content type alone. */
export type Protocol = "connect" | "connect-stream" | "grpc" | "grpc-web";

export function protocolOf(contentType: string | undefined): Protocol {
  const type = contentType?.toLowerCase() ?? "";
  if (type.startsWith("application/grpc-web")) return "grpc-web";
  if (type.startsWith("application/grpc")) return "grpc";
  if (type.startsWith("application/connect+")) return "connect-stream";
  return "connect";
}
