import { useMemo, useState } from "preact/hooks";
import { call, nsPath } from "../lib/api.ts";
import * as format from "../lib/format.ts";
import { href, navigate, replaceParams, route } from "../lib/router.ts";
import type { CollectionInfo, CollectionSchema } from "../lib/types.ts";
import { useLoad } from "../lib/use-load.ts";
import { FormDialog } from "../ui/dialog.tsx";
import { Editor } from "../ui/editor.tsx";
import { Badge, Button, Card, Empty, Loading, PageHead, ProblemNotice, TextField } from "../ui/parts.tsx";
import { toast } from "../ui/toast.tsx";
import { VirtualList } from "../ui/virtual-list.tsx";
import { nameHint, namePattern } from "./namespaces.tsx";

interface CollectionsAnswer {
  readonly collections: readonly CollectionInfo[];
  readonly next_page_token: string;
}

const pagesMax = 100;

/** All collections of a namespace, page by page. */
export async function listCollections(ns: string, signal: AbortSignal): Promise<CollectionInfo[]> {
  const found: CollectionInfo[] = [];
  let token = "";
  for (let page = 0; page < pagesMax; page++) {
    const query = token === "" ? "" : `?page_token=${encodeURIComponent(token)}`;
    const answer = await call<CollectionsAnswer>(nsPath(ns, "collections") + query, { signal });
    found.push(...answer.collections);
    token = answer.next_page_token;
    if (token === "" || token === null) break;
  }
  return found;
}

export function CollectionsPage({ ns }: { readonly ns: string }) {
  const [creating, setCreating] = useState(false);
  const filter = route.value.params.get("filter") ?? "";
  const { data, problem, reload } = useLoad((signal) => listCollections(ns, signal), [ns], 10_000);
  const shown = useMemo(() => {
    const wanted = filter.toLowerCase();
    return (data ?? []).filter(({ name }) => name.toLowerCase().includes(wanted));
  }, [data, filter]);
  return (
    <>
      <PageHead title="Collections" note="Documents with text, vectors and filterable fields.">
        <Button kind="primary" icon="plus" onClick={() => setCreating(true)}>
          Create collection
        </Button>
      </PageHead>
      <ProblemNotice problem={problem} retry={reload} />
      {data === undefined ? (
        problem === undefined ? (
          <Loading />
        ) : null
      ) : data.length === 0 ? (
        <Card>
          <Empty title={`No collections in ${ns}`} command={createCommand(ns)}>
            A collection makes documents searchable by words, by meaning and by their fields.
          </Empty>
        </Card>
      ) : (
        <Card flush>
          <div class="filter-bar">
            <TextField
              label="Filter by name"
              hideLabel
              type="search"
              placeholder="Filter by name"
              value={filter}
              onInput={(value) => replaceParams({ filter: value })}
            />
            <span class="muted" role="status">
              {format.count(shown.length)}
            </span>
          </div>
          <VirtualList
            label="Collections"
            items={shown}
            rowHeight={48}
            keyOf={(each) => each.name}
            row={(each) => (
              <a class="list-row" href={href(["ns", ns, "collections", each.name])}>
                <span class="grow">
                  {each.name}{" "}
                  {each.aliases.map((alias) => (
                    <Badge key={alias}>{alias}</Badge>
                  ))}
                </span>
                {each.hot.enabled ? <Badge tone="accent">hot</Badge> : null}
                {each.backpressure.throttled ? <Badge tone="warn">throttled</Badge> : null}
                <span class="muted">{format.count(each.manifest.records)} sealed</span>
                {each.backpressure.backlog_records > 0 ? (
                  <span class="muted">{format.count(each.backpressure.backlog_records)} in the tail</span>
                ) : null}
              </a>
            )}
          />
        </Card>
      )}
      {creating ? <CreateCollection ns={ns} onClose={() => setCreating(false)} /> : null}
    </>
  );
}

const firstSchema: CollectionSchema = {
  fields: [
    { name: "title", kind: { text: { analyzer: "english", positions: true } } },
    { name: "kind", kind: "keyword", fast: true },
    { name: "price", kind: "f64" },
  ],
  vectors: [{ name: "v", dim: 3, distance: "cosine" }],
};

function createCommand(ns: string): string {
  const body = JSON.stringify({ name: "items", schema: firstSchema });
  return `curl -X POST ${location.origin}${nsPath(ns, "collections")} \\\n  -H 'content-type: application/json' -d '${body}'`;
}

function CreateCollection({ ns, onClose }: { readonly ns: string; readonly onClose: () => void }) {
  const [name, setName] = useState("");
  const [schema, setSchema] = useState(() => JSON.stringify(firstSchema, null, 2));
  const create = async () => {
    await call(nsPath(ns, "collections"), { body: { name, schema: JSON.parse(schema) as unknown } });
    toast(`Created ${name}`);
    navigate(["ns", ns, "collections", name]);
  };
  return (
    <FormDialog title="Create collection" submit="Create" onClose={onClose} onSubmit={create} wide>
      <TextField
        label="Name"
        value={name}
        onInput={setName}
        required
        mono
        autoFocus
        pattern={namePattern}
        hint={nameHint}
      />
      <div class="field">
        <span class="label">Schema</span>
        <Editor language="json" label="Schema" value={schema} onChange={setSchema} lines />
        <p class="hint">
          Kinds: keyword, text, i64, f64, bool, date, json. Distances: cosine, dot, l2. See{" "}
          <a href={href(["docs", "collections"])}>the guide</a>.
        </p>
      </div>
    </FormDialog>
  );
}
