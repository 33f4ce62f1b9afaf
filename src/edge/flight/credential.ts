import { fromBinary } from "@bufbuild/protobuf";
import { BasicAuthSchema } from "../../gen/arrow/flight/protocol/Flight_pb.ts";

/**
 * How Flight clients sign in: with a user name and a password, once in a handshake that answers with a bearer token, or
 * on every call. The password is an API key or a token, whatever the user is called, so it is the bearer token too.
 */
export function bearerOf(authorization: string | undefined): string | undefined {
  const basic = /^basic +([A-Za-z0-9+/=_-]+) *$/i.exec(authorization ?? "")?.[1];
  if (basic === undefined) return authorization;
  const pair = Buffer.from(basic, "base64").toString();
  return `Bearer ${pair.slice(pair.indexOf(":") + 1)}`;
}

/** From a handshake that carries user and password in its message. */
export function bearerOfPayload(payload: Uint8Array): string | undefined {
  if (payload.byteLength === 0) return undefined;
  try {
    const { password } = fromBinary(BasicAuthSchema, payload);
    return password === "" ? undefined : `Bearer ${password}`;
  } catch {
    // Some clients send a greeting of their own.
    return undefined;
  }
}
