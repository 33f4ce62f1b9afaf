import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError, type Problem, problemOf, signInNeeded } from "./lib/api.ts";
import { addressed, navigate, route } from "./lib/router.ts";
import { access, instance, loadInstance, loadNamespaces, may, namespace, openSession } from "./lib/session.ts";
import { useShortcuts } from "./lib/shortcuts.ts";
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
import { Brand, instanceItems, type NavItem, namespaceItems, Side, ThemeButton } from "./side.tsx";
import { Dialog } from "./ui/dialog.tsx";
import { Button, Loading, PageHead, ProblemNotice } from "./ui/parts.tsx";
import { Toasts } from "./ui/toast.tsx";

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
  const address = addressed.value;
  // Depends on this alone: a namespace that is not in the list may have been made since
  useEffect(() => {
    if (address !== undefined && address !== namespace.peek()) void loadNamespaces().catch(() => {});
  }, [address]);
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
