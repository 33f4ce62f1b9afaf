import { useState } from "preact/hooks";
import { call, nsPath, postCommand } from "../lib/api.ts";
import * as format from "../lib/format.ts";
import { listCollections } from "../lib/pages.ts";
import { href } from "../lib/router.ts";
import type { CollectionInfo, CollectionSchema } from "../lib/types.ts";
import { useLoad } from "../lib/use-load.ts";
import { Editor } from "../ui/editor.tsx";
import { CreateDialog, ListPage } from "../ui/list-page.tsx";
import { Badge } from "../ui/parts.tsx";

export function CollectionsPage({ ns }: { readonly ns: string }) {
  const list = useLoad<readonly CollectionInfo[]>((signal, show) => listCollections(ns, signal, show), [ns], 10_000);
  return (
    <ListPage
      title="Collections"
      note="Documents with text, vectors and filterable fields."
      what="collection"
      list={list}
      nameOf={({ name }) => name}
      empty={{
        title: `No collections in ${ns}`,
        text: "A collection makes documents searchable by words, by meaning and by their fields.",
        command: postCommand(nsPath(ns, "collections"), JSON.stringify({ name: "items", schema: firstSchema })),
      }}
      row={(each) => <CollectionRow ns={ns} info={each} />}
      create={(onClose) => <CreateCollection ns={ns} onClose={onClose} />}
    />
  );
}

function CollectionRow({ ns, info }: { readonly ns: string; readonly info: CollectionInfo }) {
  const { name, aliases, hot, backpressure, manifest } = info;
  return (
    <a class="list-row" href={href(["ns", ns, "collections", name])}>
      <span class="grow">
        {name}{" "}
        {aliases.map((alias) => (
          <Badge key={alias}>{alias}</Badge>
        ))}
      </span>
      {hot.enabled ? <Badge tone="accent">hot</Badge> : null}
      {backpressure.throttled ? <Badge tone="warn">throttled</Badge> : null}
      <span class="muted">{format.count(manifest.records)} sealed</span>
      {backpressure.backlog_records > 0 ? (
        <span class="muted">{format.count(backpressure.backlog_records)} in the tail</span>
      ) : null}
    </a>
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

function CreateCollection({ ns, onClose }: { readonly ns: string; readonly onClose: () => void }) {
  const [schema, setSchema] = useState(() => JSON.stringify(firstSchema, null, 2));
  return (
    <CreateDialog
      what="collection"
      onClose={onClose}
      onCreate={(name) => call(nsPath(ns, "collections"), { body: { name, schema: JSON.parse(schema) as unknown } })}
      pathOf={(name) => ["ns", ns, "collections", name]}
      wide
    >
      <div class="field">
        <span class="label">Schema</span>
        <Editor language="json" label="Schema" value={schema} onChange={setSchema} lines />
        <p class="hint">
          Kinds: keyword, text, i64, f64, bool, date, json. Distances: cosine, dot, l2. See{" "}
          <a href={href(["docs", "collections"])}>the guide</a>.
        </p>
      </div>
    </CreateDialog>
  );
}
