import type { Principal } from "../../engine/auth/principal.ts";
import type { SessionState } from "./statement-runner.ts";

/** What a session knows once its client has signed in. */
export interface SignedIn extends SessionState {
  principal: Principal;
  user: string;
  readonly capabilities: number;
  /** Looks at the credential again; undefined where there is none to look at. */
  recheck: (() => Promise<Principal>) | undefined;
  checkedMs: number;
}
