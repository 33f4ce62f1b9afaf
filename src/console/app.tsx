import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError, credential, type Problem, problemOf, signInNeeded } from "./lib/api.ts";
import { addressed, href, navigate, route } from "./lib/router.ts";
import {
  access,
  instance,
  loadInstance,
  loadNamespaces,
  may,
  namespace,
  namespaces,
  openSession,
  signOut,
  whoAmI,
} from "./lib/session.ts";
import { useShortcuts } from "./lib/shortcuts.ts";
import { theme, toggleTheme } from "./lib/theme.ts";
import { ClusterPage } from "./pages/cluster.tsx";
import { CollectionPage } from "./pages/collection.tsx";
import { CollectionsPage } from "./pages/collections.tsx";
import { DocsPage } from "./pages/docs.tsx";
import { KeysPage } from "./pages/keys.tsx";
import { LinkPage } from "./pages/link.tsx";
import { LinksPage } from "./pages/links.tsx";
import { LivePage } from "./pages/live.tsx";
import { NamespacesPage } from "./pages/namespaces.tsx";
import { OverviewPage } from "./pages/overview.tsx";
import { SearchPage } from "./pages/search.tsx";
import { SignInPage } from "./pages/sign-in.tsx";
import { SqlPage } from "./pages/sql.tsx";
import { StreamPage } from "./pages/stream.tsx";
import { StreamsPage } from "./pages/streams.tsx";
import { Dialog } from "./ui/dialog.tsx";
import { Icon, type IconName } from "./ui/icon.tsx";
import { Button, Loading, PageHead, ProblemNotice, SelectField } from "./ui/parts.tsx";
import { Toasts } from "./ui/toast.tsx";

interface NavItem {
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

function instanceItems(): NavItem[] {
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

function namespaceItems(ns: string): NavItem[] {
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

export function App() {
  const [problem, setProblem] = useState<Problem | undefined>();
  const [ready, setReady] = useState(false);
  const open = async () => {
    setProblem(undefined);
    try {
      await loadInstance();
      await openSession();
    } catch (error) {
      if (!(error instanceof ApiError && error.problem.status === 401)) setProblem(problemOf(error));
    }
    setReady(true);
  };
  // Depends on this alone: once, when the page opens
  useEffect(() => {
    void open();
  }, []);
  if (!ready) return <Loading label="Connecting" />;
  if (signInNeeded.value !== undefined) return <SignInPage problem={signInNeeded.value} />;
  if (problem !== undefined && instance.value === undefined) {
    return (
      <main class="sign-in">
        <ProblemNotice problem={problem} retry={() => void open()} />
      </main>
    );
  }
  return <Shell />;
}

function Shell() {
  const [menu, setMenu] = useState(false);
  const [help, setHelp] = useState(false);
  const main = useRef<HTMLElement>(null);
  const ns = namespace.value;
  const items = [...instanceItems(), ...(ns === "" ? [] : namespaceItems(ns))];
  useShortcuts({
    go: (key) => {
      const item = items.find((each) => each.key === key);
      if (item !== undefined) navigate(item.path);
    },
    help: () => setHelp(true),
  });
  const page = route.value.path.join("/");
  const given = addressed.value;
  // Depends on this alone: a namespace that is not in the list may have been made since
  useEffect(() => {
    if (given !== undefined && given !== namespace.peek()) void loadNamespaces().catch(() => {});
  }, [given]);
  // Depends on this alone: another page closes the menu and starts at its top
  useEffect(() => {
    setMenu(false);
    scrollTo(0, 0);
  }, [page]);
  return (
    <>
      <button type="button" class="skip" onClick={() => main.current?.focus()}>
        Skip to the content
      </button>
      <div class="shell">
        <header class="topbar">
          <Button kind="quiet" icon="menu" label="Menu" onClick={() => setMenu(true)} />
          <Brand />
          <ThemeButton />
        </header>
        {menu ? (
          <button type="button" class="scrim" aria-label="Close the menu" onClick={() => setMenu(false)} />
        ) : null}
        <Side open={menu} ns={ns} onHelp={() => setHelp(true)} />
        <main class="main" id="main" tabIndex={-1} ref={main}>
          <div class="main-in">
            <Page key={page} />
          </div>
        </main>
      </div>
      {help ? <Help items={items} onClose={() => setHelp(false)} /> : null}
      <Toasts />
    </>
  );
}

function Brand() {
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

function ThemeButton() {
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

function Side({ open, ns, onHelp }: { readonly open: boolean; readonly ns: string; readonly onHelp: () => void }) {
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

function Page() {
  const { path } = route.value;
  // A caller that is limited to namespaces sees the streams of one, not the instance.
  if (path.length === 0) return may("instance") ? <OverviewPage /> : <Own />;
  if (path[0] === "namespaces") return <NamespacesPage />;
  if (path[0] === "cluster") return <ClusterPage />;
  if (path[0] === "keys") return <KeysPage />;
  if (path[0] === "docs") return <DocsPage page={path[1]} />;
  const [, ns, kind, name] = path;
  if (path[0] !== "ns" || ns === undefined) return <NotFound />;
  switch (kind) {
    case undefined:
    case "streams":
      return name === undefined ? <StreamsPage ns={ns} /> : <StreamPage ns={ns} name={name} />;
    case "links":
      return name === undefined ? <LinksPage ns={ns} /> : <LinkPage ns={ns} name={name} />;
    case "collections":
      return name === undefined ? <CollectionsPage ns={ns} /> : <CollectionPage ns={ns} name={name} />;
    case "live":
      return <LivePage ns={ns} />;
    case "search":
      return <SearchPage ns={ns} />;
    case "sql":
      return <SqlPage ns={ns} />;
    default:
      return <NotFound />;
  }
}

function Own() {
  if (namespace.value !== "") return <StreamsPage ns={namespace.value} />;
  const own = access.value?.namespaces?.join(", ") ?? "";
  return <PageHead title={own} note={`Your credential is limited to ${own}, which does not exist yet.`} />;
}

function NotFound() {
  return (
    <>
      <PageHead title="Page not found" note="The console has no page at this address." />
      <p>
        <a href="#/">Go to the overview</a>
      </p>
    </>
  );
}

function Help({ items, onClose }: { readonly items: readonly NavItem[]; readonly onClose: () => void }) {
  const row = (keys: ComponentChildren, text: string) => (
    <>
      <dt>{keys}</dt>
      <dd>{text}</dd>
    </>
  );
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose}>
      <dl class="keys">
        {items.map((item) =>
          row(
            <>
              <kbd>g</kbd> <kbd>{item.key}</kbd>
            </>,
            item.label,
          ),
        )}
        {row(<kbd>/</kbd>, "Go to the page's search box")}
        {row(
          <>
            <kbd>Ctrl</kbd> <kbd>Enter</kbd>
          </>,
          "Run the query of a workbench",
        )}
        {row(<kbd>t</kbd>, "Light or dark")}
        {row(<kbd>?</kbd>, "This list")}
        {row(<kbd>Esc</kbd>, "Close a dialog")}
      </dl>
    </Dialog>
  );
}
