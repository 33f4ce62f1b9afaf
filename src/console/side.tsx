import { credential } from "./lib/api.ts";
import { href, navigate, route } from "./lib/router.ts";
import { instance, may, namespaces, signOut, whoAmI } from "./lib/session.ts";
import { theme, toggleTheme } from "./lib/theme.ts";
import { SelectField } from "./ui/fields.tsx";
import { Icon, type IconName } from "./ui/icon.tsx";
import { Button } from "./ui/parts.tsx";

export interface NavItem {
  readonly label: string;
  readonly icon: IconName;
  readonly path: readonly string[];
  readonly key: string;
}

/** Beyond these the page of namespaces finds one by its name. */
const namespacesOffered = 200;

/** No name of a namespace. */
const moreNamespaces = "…";

const clusterItem: NavItem = { label: "Cluster", icon: "cluster", path: ["cluster"], key: "r" };

const keysItem: NavItem = { label: "API keys", icon: "key", path: ["keys"], key: "k" };

export function instanceItems(): NavItem[] {
  const docs: NavItem = { label: "Documentation", icon: "docs", path: ["docs"], key: "d" };
  if (!may("instance")) return [docs];
  return [
    { label: "Overview", icon: "overview", path: [], key: "o" },
    { label: "Namespaces", icon: "namespaces", path: ["namespaces"], key: "n" },
    ...(instance.value?.features?.["cluster"] === true ? [clusterItem] : []),
    ...(may("instance-admin") ? [keysItem] : []),
    docs,
  ];
}

export function namespaceItems(ns: string): NavItem[] {
  const at = (page: string) => ["ns", ns, page];
  return [
    { label: "Streams", icon: "streams", path: at("streams"), key: "s" },
    { label: "Links", icon: "links", path: at("links"), key: "l" },
    { label: "Collections", icon: "collections", path: at("collections"), key: "c" },
    ...(instance.value?.features?.["live"] === true
      ? [{ label: "Live", icon: "live", path: at("live"), key: "v" } as const]
      : []),
    { label: "Search", icon: "search", path: at("search"), key: "f" },
    { label: "SQL", icon: "sql", path: at("sql"), key: "q" },
  ];
}

export function Brand() {
  return (
    <a class="brand" href="#/">
      <span class="logo">
        <svg viewBox="0 0 16 16" aria-hidden="true" fill="none" stroke-linecap="round" stroke-linejoin="round">
          <path d="M3.500 13V3L12.500 13V3" />
        </svg>
      </span>
      native-engine
    </a>
  );
}

export function ThemeButton() {
  const next = theme.value === "dark" ? "light" : "dark";
  return (
    <Button
      kind="quiet"
      icon={theme.value === "dark" ? "sun" : "moon"}
      label={`Use the ${next} theme`}
      onClick={toggleTheme}
    />
  );
}

export function Side({
  open,
  ns,
  onHelp,
}: {
  readonly open: boolean;
  readonly ns: string;
  readonly onHelp: () => void;
}) {
  const names = (namespaces.value ?? []).slice(0, namespacesOffered).map(({ name }) => name);
  // Beyond those that are offered.
  const known = ns !== "" && !names.includes(ns) ? [ns, ...names] : names;
  const more = (namespaces.value?.length ?? 0) - names.length;
  const choose = (name: string) => {
    const { path } = route.value;
    if (name === moreNamespaces) return navigate(["namespaces"]);
    navigate(["ns", name, path[0] === "ns" ? (path[2] ?? "streams") : "streams"]);
  };
  return (
    <aside class={`side${open ? " open" : ""}`} aria-label="Console">
      <Brand />
      <NavList label="Instance" items={instanceItems()} />
      {known.length === 0 ? null : (
        <SelectField
          label="Namespace"
          value={ns}
          onChange={choose}
          options={[
            ...(ns === "" ? [["", "Choose…"] as const] : []),
            ...known.map((name) => [name, name] as const),
            ...(more > 0 ? [[moreNamespaces, `${more} more…`] as const] : []),
          ]}
        />
      )}
      {ns === "" ? null : <NavList label="In this namespace" items={namespaceItems(ns)} />}
      <div class="side-foot">
        <div class="row">
          <span class="muted" title={whoAmI.value?.id ?? ""}>
            {whoAmI.value?.displayName ?? ""}
          </span>
          {credential.value === undefined ? null : (
            <Button small kind="quiet" icon="out" label="Sign out" onClick={signOut} />
          )}
        </div>
        <div class="row">
          <span class="muted">{instance.value === undefined ? "" : `Version ${instance.value.serverVersion}`}</span>
          <span>
            <Button kind="quiet" small icon="help" label="Keyboard shortcuts" onClick={onHelp} />
            <ThemeButton />
          </span>
        </div>
      </div>
    </aside>
  );
}

function NavList({ label, items }: { readonly label: string; readonly items: readonly NavItem[] }) {
  const { path } = route.value;
  const isCurrent = (item: NavItem) => {
    if (item.path.length === 0) return path.length === 0;
    return item.path.every((part, i) => path[i] === part);
  };
  return (
    <nav class="nav" aria-label={label}>
      {items.map((item) => (
        <a key={item.label} href={href(item.path)} {...(isCurrent(item) ? { "aria-current": "page" } : {})}>
          <Icon name={item.icon} />
          {item.label}
        </a>
      ))}
    </nav>
  );
}
