import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Marked, type Token, type Tokens } from "marked";

/** A page of `docs/`, or the README. */
export interface Guide {
  /** The last part of its address. */
  readonly name: string;
  readonly title: string;
  /** Its first sentence. */
  readonly summary: string;
  readonly html: () => string;
  /** For those who look for something. */
  readonly sections: readonly GuideSection[];
}

export interface GuideSection {
  readonly heading: string;
  /** Its address on the page; empty for what stands above the first heading. */
  readonly slug: string;
  readonly text: string;
}

const root = fileURLToPath(new URL("../../../../", import.meta.url));
/** In the order in which a newcomer reads them. */
export const guideGroups: readonly { readonly title: string; readonly pages: readonly string[] }[] = [
  {
    title: "Start",
    pages: ["readme", "quickstart-search", "quickstart-events", "quickstart-sql", "quickstart-operate"],
  },
  { title: "Concepts", pages: ["concepts", "comparison"] },
  { title: "Guides", pages: ["console", "cli", "client", "python", "live", "operations", "cluster", "security"] },
  {
    title: "Reference",
    pages: [
      "streams",
      "events-and-links",
      "collections",
      "query",
      "search",
      "sql",
      "postgres",
      "mysql",
      "flight-sql",
      "lance",
      "rpc",
      "configuration",
      "reliability",
      "threat-model",
    ],
  },
  { title: "Migrating", pages: ["migration"] },
];
const order = guideGroups.flatMap(({ pages }) => pages);

/** Read once, with the first page. A folder that was left out of an installation has none. */
export function loadGuides(folder = join(root, "docs"), readme = join(root, "README.md")): Guide[] {
  const files = [readme, ...markdownIn(folder)];
  const guides = files.flatMap((path) => {
    const text = readOptional(path);
    return text === undefined ? [] : [guideOf(path === readme ? "readme" : basename(path, ".md").toLowerCase(), text)];
  });
  const place = (name: string) => (order.includes(name) ? order.indexOf(name) : order.length);
  return guides.sort((a, b) => place(a.name) - place(b.name) || (a.name < b.name ? -1 : 1));
}

function markdownIn(folder: string): string[] {
  try {
    return readdirSync(folder)
      .filter((name) => /^[\w-]+\.md$/.test(name))
      .map((name) => join(folder, name));
  } catch {
    return [];
  }
}

function readOptional(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}

function guideOf(name: string, text: string): Guide {
  const title = /^# (.+)$/m.exec(text)?.[1] ?? name;
  const paragraph = /^# .+\n+((?:(?!```)[^\n#|-].*\n?)+)/m.exec(text)?.[1]?.replaceAll("\n", " ") ?? "";
  const plain = paragraph.replaceAll(/[`*]|\[([^\]]*)\]\([^)]*\)/g, "$1").trim();
  let html: string | undefined;
  let sections: readonly GuideSection[] | undefined;
  return {
    name,
    title: title.replaceAll("`", ""),
    summary: /^.*?[.:](?=\s|$)/.exec(plain)?.[0].replace(/:$/, ".") ?? plain,
    html: () => {
      html ??= render(text);
      return html;
    },
    get sections() {
      sections ??= sectionsOf(text);
      return sections;
    },
  };
}

function sectionsOf(text: string): GuideSection[] {
  const sections: { heading: string; slug: string; text: string }[] = [{ heading: "", slug: "", text: "" }];
  for (const token of new Marked({ gfm: true }).lexer(text)) {
    const isHeading = token.type === "heading" && (token as Tokens.Heading).depth > 1;
    if (isHeading) sections.push({ heading: plainOf(token["text"]), slug: slugOf(token["text"]), text: "" });
    else if (token.type !== "heading") sections.at(-1)!.text += `${plainOf(token.raw)} `;
  }
  return sections;
}

/** What a reader sees, in one line. */
function plainOf(markdown: string): string {
  return markdown
    .replaceAll(/<!--.*?-->|[`*]|^```\w*|^[-| :]+$/gms, "")
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replaceAll(/[\s|]+/g, " ")
    .trim();
}

function slugOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\w\s-]/g, "")
    .trim()
    .replaceAll(/\s+/g, "-");
}

/** The text is ours; links between the files become links between the pages. */
function render(text: string): string {
  const marked = new Marked({ gfm: true });
  const slugs = new Set<string>();
  marked.use({
    walkTokens(token: Token) {
      if (token.type === "link") token["href"] = pageAddress(String(token["href"]));
    },
    renderer: {
      // A guide loads nothing, and who reads it here sees the console anyway.
      image: () => "",
      heading({ tokens, depth, text: heading }: Tokens.Heading) {
        const slug = slugOf(heading);
        const id = slugs.has(slug) || slug === "" ? "" : ` id="${slug}"`;
        slugs.add(slug);
        return `<h${depth}${id}>${this.parser.parseInline(tokens)}</h${depth}>\n`;
      },
    },
  });
  return marked.parse(text, { async: false });
}

function pageAddress(target: string): string {
  const [, path, hash = ""] = /^(?:\.{0,2}\/)*(?:docs\/)?([\w-]+)\.md(#.*)?$/.exec(target) ?? [];
  return path === undefined ? target : `/docs/${path.toLowerCase()}${hash}`;
}
