import { useEffect, useRef, useState } from "preact/hooks";
import { request } from "../lib/api.ts";
import { navigate, route } from "../lib/router.ts";
import { useLoad } from "../lib/use-load.ts";
import { Loading, PageHead, ProblemNotice } from "../ui/parts.tsx";
import { type Operation, TryIt } from "./try-it.tsx";

/** A guide as the server renders it. Fetched rather than linked, since a link carries no credential. */
export function DocsPage({ page }: { readonly page: string | undefined }) {
  const frame = useRef<HTMLElement>(null);
  const [tried, setTried] = useState<Operation | undefined>();
  const { params } = route.value;
  const question = params.get("q") ?? "";
  const section = params.get("at") ?? "";
  const list = question === "" ? "/docs" : `/docs?${new URLSearchParams({ q: question })}`;
  const path = page === undefined ? list : `/docs/${encodeURIComponent(page)}`;
  const { data, problem, reload } = useLoad(async (signal) => (await request(path, { signal })).text(), [path]);
  useEffect(() => {
    if (data === undefined || frame.current === null) return;
    // The page's own style stays out: the console has one.
    const content = /<main>([\s\S]*)<\/main>/.exec(data)?.[1] ?? "";
    const main = new DOMParser().parseFromString(content, "text/html").body;
    for (const link of main.querySelectorAll("a")) link.setAttribute("href", consoleAddress(link, page));
    for (const wide of main.querySelectorAll("pre, table")) wide.setAttribute("tabindex", "0");
    frame.current.replaceChildren(...Array.from(main.childNodes));
    for (const each of frame.current.querySelectorAll<HTMLElement>("details[data-operation]")) {
      offerTrial(each, setTried);
    }
  }, [data, page]);
  useEffect(() => {
    if (section !== "") frame.current?.querySelector(`#${CSS.escape(section)}`)?.scrollIntoView();
  }, [data, section]);
  const search = (event: SubmitEvent) => {
    event.preventDefault();
    const asked = new FormData(event.target as HTMLFormElement).get("q");
    navigate(["docs"], { q: String(asked ?? "") });
  };
  return (
    <>
      {page === undefined && question === "" ? null : (
        <PageHead title="Documentation" crumbs={[{ label: "All guides", href: "#/docs" }]} />
      )}
      {data === undefined && problem === undefined ? <Loading /> : null}
      <ProblemNotice problem={problem} retry={reload} />
      <article class="prose" ref={frame} onSubmit={search} />
      {tried === undefined ? null : <TryIt operation={tried} onClose={() => setTried(undefined)} />}
    </>
  );
}

/** Pages of the documentation are shown here; `#` is taken, so a section of one is a parameter. */
function consoleAddress(link: HTMLAnchorElement, page: string | undefined): string {
  const target = link.getAttribute("href") ?? "";
  const [address = "", section = ""] = target.split("#", 2);
  const own = page === undefined ? "/docs" : `/docs/${page}`;
  const shown = address === "" ? own : address;
  if (shown !== "/docs" && !shown.startsWith("/docs/")) return target;
  return `#${shown}${section === "" ? "" : `?at=${encodeURIComponent(section)}`}`;
}

/** The reference is the server's text; the button that makes a form of an operation is ours. */
function offerTrial(details: HTMLElement, onTry: (operation: Operation) => void): void {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "button small";
  button.textContent = "Try it";
  button.addEventListener("click", () => onTry(JSON.parse(details.dataset["operation"] ?? "{}") as Operation));
  details.querySelector(".in")?.prepend(button);
}
