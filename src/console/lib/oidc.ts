import { tabStorage } from "./storage.ts";

/** How people sign in at the identity provider: an authorization code with a proof that only this tab can give. */
export interface ProviderSettings {
  readonly issuer: string;
  readonly clientId: string;
  readonly scope: string;
}

interface Discovery {
  readonly authorization_endpoint: string;
  readonly token_endpoint: string;
}

/** What is kept while the provider's page is shown. */
interface Pending {
  readonly settings: ProviderSettings;
  readonly verifier: string;
  readonly state: string;
  readonly hash: string;
}

export async function providerSettings(): Promise<ProviderSettings | undefined> {
  const found = (await (await fetch("/console/sign-in.json")).json()) as Partial<ProviderSettings>;
  return found.clientId === undefined ? undefined : (found as ProviderSettings);
}

function base64url(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

function random(): string {
  return base64url(crypto.getRandomValues(new Uint8Array(32)));
}

async function discover(issuer: string): Promise<Discovery> {
  const response = await fetch(`${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`);
  if (!response.ok) throw new Error(`The identity provider answers ${response.status}.`);
  return (await response.json()) as Discovery;
}

function redirectUri(): string {
  return `${location.origin}/`;
}

/** Leaves for the provider's page. */
export async function beginSignIn(settings: ProviderSettings): Promise<void> {
  const { authorization_endpoint: endpoint } = await discover(settings.issuer);
  const pending: Pending = { settings, verifier: random(), state: random(), hash: location.hash };
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(pending.verifier));
  tabStorage.set("sign-in", JSON.stringify(pending));
  const url = new URL(endpoint);
  const query = {
    response_type: "code",
    client_id: settings.clientId,
    redirect_uri: redirectUri(),
    scope: settings.scope,
    state: pending.state,
    code_challenge: base64url(new Uint8Array(digest)),
    code_challenge_method: "S256",
  };
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  location.assign(url);
}

export function isReturning(): boolean {
  const query = new URLSearchParams(location.search);
  return query.has("state") && (query.has("code") || query.has("error"));
}

/** Back from the provider's page: its code becomes a token, and the address is as it was before. */
export async function finishSignIn(): Promise<string> {
  const query = new URLSearchParams(location.search);
  const stored = tabStorage.get("sign-in");
  tabStorage.set("sign-in", undefined);
  const pending = stored === undefined ? undefined : (JSON.parse(stored) as Pending);
  history.replaceState(null, "", `/${pending?.hash ?? ""}`);
  dispatchEvent(new HashChangeEvent("hashchange"));
  if (pending === undefined || query.get("state") !== pending.state) {
    throw new Error("This sign-in was not begun in this tab. Please begin again.");
  }
  if (query.has("error"))
    throw new Error(query.get("error_description") ?? query.get("error") ?? "The sign-in failed.");
  const { token_endpoint: endpoint } = await discover(pending.settings.issuer);
  const response = await fetch(endpoint, {
    method: "POST",
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams({
      grant_type: "authorization_code",
      code: query.get("code") ?? "",
      redirect_uri: redirectUri(),
      client_id: pending.settings.clientId,
      code_verifier: pending.verifier,
    }),
  });
  const answer = (await response.json()) as { access_token?: string; id_token?: string; error_description?: string };
  if (!response.ok) throw new Error(answer.error_description ?? `The identity provider answers ${response.status}.`);
  // An access token may be opaque to everybody but the provider; an id token never is.
  const token = looksSigned(answer.access_token) ? answer.access_token : answer.id_token;
  if (token === undefined) throw new Error("The identity provider gave no token that the server can read.");
  return token;
}

function looksSigned(token: string | undefined): token is string {
  return token?.split(".").length === 3;
}
