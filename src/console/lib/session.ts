import { computed, signal } from "@preact/signals";
import { call, setCredential, signInNeeded } from "./api.ts";
import { addressed } from "./router.ts";
import { browserStorage } from "./storage.ts";
import type { Access, InstanceInfo, Namespace, WhoAmI } from "./types.ts";

export const instance = signal<InstanceInfo | undefined>(undefined);
export const whoAmI = signal<WhoAmI["principal"] | undefined>(undefined);
export const access = signal<Access | undefined>(undefined);
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
  access.value = await call<Access>("/v1/access");
  await loadNamespaces();
  signInNeeded.value = undefined;
}

/** The namespace of the address, or the last one there was; none where the address names one that does not exist. */
export const namespace = computed<string>(() => {
  const known = namespaces.value ?? [];
  const exists = (name: string | undefined) => known.some((each) => each.name === name);
  const address = addressed.value;
  if (address !== undefined) {
    if (exists(address)) browserStorage.set("namespace", address);
    return exists(address) ? address : "";
  }
  const last = browserStorage.get("namespace");
  return last !== undefined && exists(last) ? last : (known[0]?.name ?? "");
});

export type Need = "write" | "admin" | "instance" | "instance-admin";

/** Whether the caller may do what needs so much. The server has the last word; this is for what to offer. */
export function may(need: Need): boolean {
  const { role, namespaces } = access.value ?? { role: "reader", namespaces: null };
  if (need.startsWith("instance") && namespaces !== null) return false;
  return need === "instance" || role === "admin" || (need === "write" && role === "writer");
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
  access.value = undefined;
  namespaces.value = undefined;
  signInNeeded.value = { status: 401, reason: "signed_out", message: "You have signed out." };
}
