import { signal } from "@preact/signals";
import { call, setCredential, signInNeeded } from "./api.ts";
import type { InstanceInfo, Namespace, WhoAmI } from "./types.ts";

export const instance = signal<InstanceInfo | undefined>(undefined);
export const whoAmI = signal<WhoAmI["principal"] | undefined>(undefined);
export const namespaces = signal<readonly Namespace[] | undefined>(undefined);

const rpc = "/service.instance.v1.InstanceService/";

/** Needs no credential. */
export async function loadInstance(): Promise<void> {
  instance.value = await call<InstanceInfo>(`${rpc}GetInstance`, { body: {} });
}

export async function loadNamespaces(): Promise<void> {
  namespaces.value = (await call<{ namespaces: Namespace[] }>("/v1/namespaces")).namespaces;
}

/** Who we are, and what we may see. */
export async function openSession(): Promise<void> {
  const { principal } = await call<WhoAmI>(`${rpc}WhoAmI`, { body: {} });
  whoAmI.value = principal;
  await loadNamespaces();
  signInNeeded.value = undefined;
}

export async function signIn(credential: string): Promise<void> {
  setCredential(credential);
  try {
    await openSession();
  } catch (error) {
    setCredential(undefined);
    throw error;
  }
}

export function signOut(): void {
  setCredential(undefined);
  whoAmI.value = undefined;
  namespaces.value = undefined;
  signInNeeded.value = { status: 401, reason: "signed_out", message: "You have signed out." };
}
