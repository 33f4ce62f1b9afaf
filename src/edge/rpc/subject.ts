import { tablePathIn } from "../../engine/live/builtins.ts";

/** What a call acts on, for the audit log: its target is the path that REST has for the same thing. */
export interface Subject {
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
