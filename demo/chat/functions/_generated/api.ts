// Written by `native-engine live`; changes here are lost.
import type { ApiOf } from "native-engine/client";
import type * as m0 from "../messages.ts";

export const api = {
  "messages": {
    list: "messages:list",
    send: "messages:send",
  },
} as unknown as ApiOf<{ "messages": typeof m0 }>;
