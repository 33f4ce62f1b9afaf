import { authorize, type Need, needs } from "../../engine/auth/access.ts";
import type { Principal } from "../../engine/auth/principal.ts";
import { tablePathIn } from "../../engine/live/builtins.ts";

/** Calls that anybody may make. */
const openPaths: ReadonlySet<string> = new Set([
  "/service.instance.v1.InstanceService/GetInstance",
  "/grpc.health.v1.Health/Check",
  "/grpc.health.v1.Health/Watch",
  // Brings its credential in its message and is judged by it once that is read.
  "/arrow.flight.protocol.FlightService/Handshake",
]);

export function needsCredential(path: string): boolean {
  return !openPaths.has(path);
}

/** A call that acts inside the namespace which its message names. */
type NeedIn = (namespace: string) => Need;

const callNeeds: Readonly<Record<string, Need | NeedIn>> = {
  "/service.collection.v1.NamespaceService/CreateNamespace": needs.adminInstance,
  "/service.collection.v1.CollectionService/CreateCollection": needs.adminIn,
  "/service.collection.v1.CollectionService/ListCollections": needs.readIn,
  "/service.collection.v1.CollectionService/GetCollection": needs.readIn,
  "/service.collection.v1.CollectionService/DropCollection": needs.adminIn,
  "/service.collection.v1.CollectionService/AddFields": needs.adminIn,
  "/service.collection.v1.CollectionService/ListVersions": needs.readIn,
  "/service.collection.v1.CollectionService/Scan": needs.readIn,
  "/service.collection.v1.CollectionService/UpdateAliases": needs.adminIn,
  "/service.collection.v1.CollectionService/SetHot": needs.adminIn,
  "/service.collection.v1.CollectionService/WarmCollection": needs.writeIn,
  "/service.collection.v1.DocumentService/WriteDocuments": needs.writeIn,
  "/service.collection.v1.DocumentService/GetDocuments": needs.readIn,
  "/service.collection.v1.DocumentService/ScrollDocuments": needs.readIn,
  "/service.collection.v1.DocumentService/CountDocuments": needs.readIn,
  "/service.collection.v1.DocumentService/DeleteByFilter": needs.writeIn,
  "/service.collection.v1.DocumentService/PatchByFilter": needs.writeIn,
  "/service.collection.v1.QueryService/Search": needs.readIn,
  "/service.live.v1.LiveService/Query": needs.readIn,
  "/service.live.v1.LiveService/Mutate": needs.writeIn,
  "/service.live.v1.LiveService/Deploy": needs.adminIn,
  "/service.live.v1.LiveService/Watch": needs.readIn,
  "/service.live.v1.LiveService/ModifyQuerySet": needs.readIn,
};

/** What is not listed tells nothing of any namespace: any admitted principal may call it. */
function needOf(path: string): Need | NeedIn {
  // What its methods do is not known here, so that they are no reader's of one namespace to call.
  if (path.startsWith("/service.house.")) return needs.adminInstance;
  return callNeeds[path] ?? needs.signedIn;
}

/** Whether a call changes what there is, rather than data in it. */
export function isAdministrative(path: string): boolean {
  const need = needOf(path);
  return need === needs.adminInstance || need === needs.adminIn;
}

/** Before the message is read: the role, with the namespace left open. */
export function authorizeCall(principal: Principal, path: string): void {
  const need = needOf(path);
  authorize(principal, typeof need === "function" ? need(principal.namespaces?.[0] ?? "") : need);
}

/** Once the message is read: also the namespace that it names, which is returned. */
export function authorizeMessage(principal: Principal, path: string, message: object): string | undefined {
  const need = needOf(path);
  if (typeof need !== "function") return undefined;
  const { namespace } = message as { readonly namespace?: unknown };
  const named = typeof namespace === "string" ? namespace : "";
  authorize(principal, need(named));
  return named;
}

/** What a call acts on, for the audit log: its target is the path that REST has for the same thing. */
interface Subject {
  readonly namespace?: string | undefined;
  readonly target: string;
}

/** Of each name that is noted. */
const nameLengthMax = 128;
const aliasesMax = 10;

interface AliasAction {
  readonly action: { readonly value?: { readonly alias: string } | undefined };
}

type Fields = Readonly<Partial<Record<"namespace" | "name" | "collection", string>>> & {
  readonly actions?: readonly AliasAction[];
  readonly call?: { readonly args?: Readonly<Record<string, unknown>> };
};

/** A call that is refused before its message is read names nothing but its method. */
export function subjectOf(path: string, message: object | undefined): Subject {
  const { namespace, name, collection, actions, call } = (message ?? {}) as Fields;
  const segment = (text: string) => encodeURIComponent(text.slice(0, nameLengthMax));
  if (namespace === undefined) return { target: name === undefined ? path : `/v1/namespaces/${segment(name)}` };
  const base = `/v1/namespaces/${segment(namespace)}`;
  if (path.startsWith("/service.live.")) return { namespace, target: `${base}/live${tablePathIn(call?.args)}` };
  if (actions !== undefined) {
    const aliases = actions.slice(0, aliasesMax).map(({ action }) => segment(action.value?.alias ?? ""));
    return { namespace, target: `${base}/aliases/${aliases.join(",")}` };
  }
  return { namespace, target: `${base}/collections/${segment(collection ?? name ?? "")}` };
}
