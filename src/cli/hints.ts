import type { ServiceError } from "../client/index.ts";

const certificateFaults = new Set([
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
]);

/** The system's word for why there is no connection. */
function causeOf({ cause }: ServiceError): string {
  const { cause: inner } = (cause ?? {}) as { readonly cause?: { readonly code?: unknown } };
  return String(inner?.code ?? "");
}

/** What the user can do about it; the server's own hint where it gives one. */
export function hintOf(error: ServiceError): string | undefined {
  const { hint } = error.details;
  if (typeof hint === "string" && hint !== "") return hint;
  switch (error.reason) {
    case "unavailable":
      if (certificateFaults.has(causeOf(error))) {
        return "the server's certificate is not trusted: name it, or the authority that signed it, with --ca-file or SERVICE_CA_FILE";
      }
      if (causeOf(error) === "ERR_TLS_CERT_ALTNAME_INVALID")
        return "the certificate is for another host name: use that name in --url";
      if (causeOf(error) === "CERT_HAS_EXPIRED") return "the server's certificate has expired: renew it";
      return error.status === 0
        ? "is the server running? start it with `native-engine serve`, or name it with --url or SERVICE_URL"
        : "the server can't answer now; try again in a moment";
    case "resource_exhausted":
      if (error.details["quota"] !== undefined) return "`native-engine ns quota` shows and sets a namespace's limits";
      return "the indexes are behind the writes; try again in a moment";
    case "unauthenticated":
      return "give a key with --api-key, SERVICE_API_KEY or SERVICE_API_KEY_FILE; `native-engine keys create` makes one";
    case "permission_denied":
      return "the key's role or namespace does not allow it; `native-engine keys list` shows them";
    case "not_found":
      return /^namespace /.test(error.message)
        ? "name a namespace with -n or SERVICE_NAMESPACE; `native-engine ns list` shows them, `ns create` makes one"
        : undefined;
    case "unimplemented":
      return "the server is older than this command";
    case "internal":
      return "look for the request id in the server's log";
    default:
      return undefined;
  }
}
