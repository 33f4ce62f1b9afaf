import { useEffect, useRef } from "preact/hooks";
import { request } from "../lib/api.ts";
import { useLoad } from "../lib/use-load.ts";
import { Loading, PageHead, ProblemNotice } from "../ui/parts.tsx";

/** A guide as the server renders it. Fetched rather than linked, since a link carries no credential. */
export function DocsPage({ page }: { readonly page: string | undefined }) {
  const frame = useRef<HTMLElement>(null);
  const path = page === undefined ? "/docs" : `/docs/${encodeURIComponent(page)}`;
  const { data, problem, reload } = useLoad(async (signal) => (await request(path, { signal })).text(), [path]);
  useEffect(() => {
    if (data === undefined || frame.current === null) return;
    // The page's own style stays out: the console has one.
    const content = /<main>([\s\S]*)<\/main>/.exec(data)?.[1] ?? "";
    const main = new DOMParser().parseFromString(content, "text/html").body;
    for (const link of main.querySelectorAll("a")) {
      const target = link.getAttribute("href") ?? "";
      if (target === "/docs" || target.startsWith("/docs/")) link.setAttribute("href", `#${target}`);
      else if (target.startsWith("#")) link.removeAttribute("href");
    }
    for (const wide of main.querySelectorAll("pre, table")) wide.setAttribute("tabindex", "0");
    frame.current.replaceChildren(...Array.from(main.childNodes));
  }, [data]);
  return (
    <>
      {page === undefined ? null : (
        <PageHead title="Documentation" crumbs={[{ label: "All guides", href: "#/docs" }]} />
      )}
      {data === undefined && problem === undefined ? <Loading /> : null}
      <ProblemNotice problem={problem} retry={reload} />
      <article class="prose" ref={frame} />
    </>
  );
}
