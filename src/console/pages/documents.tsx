import { useState } from "preact/hooks";
import { call, nsPath, postCommand } from "../lib/api.ts";
import * as format from "../lib/format.ts";
import { href, replaceParams, route } from "../lib/router.ts";
import type { StoredDocument } from "../lib/types.ts";
import { useLoad } from "../lib/use-load.ts";
import { DeleteDialog, FormDialog } from "../ui/dialog.tsx";
import { Editor } from "../ui/editor.tsx";
import { JsonView } from "../ui/json-view.tsx";
import { Button, Card, DetailPane, Empty, Loading, ProblemNotice, TextField } from "../ui/parts.tsx";
import { toast } from "../ui/toast.tsx";

interface Page {
  readonly documents: readonly StoredDocument[];
  readonly next_cursor: string | null;
}

const pageSize = 50;

/** The documents of a collection by id, a page at a time: how many there are does not matter. */
export function Documents({ ns, name }: { readonly ns: string; readonly name: string }) {
  const path = nsPath(ns, "collections", name, "documents");
  const applied = route.value.params.get("filter") ?? "";
  const [filter, setFilter] = useState(applied);
  const [cursors, setCursors] = useState<readonly string[]>([]);
  const [shown, setShown] = useState<StoredDocument | undefined>();
  const [adding, setAdding] = useState(false);
  const [deleting, setDeleting] = useState<StoredDocument | undefined>();
  const cursor = cursors.at(-1);
  const { data, problem, loading, reload } = useLoad(
    (signal) => {
      const parsed = applied.trim() === "" ? undefined : (JSON.parse(applied) as unknown);
      const body = {
        limit: pageSize,
        ...(parsed === undefined ? {} : { filter: parsed }),
        ...(cursor === undefined ? {} : { cursor }),
      };
      return call<Page>(`${path}/scroll`, { body, signal });
    },
    [path, applied, cursor],
  );
  const matching = useLoad(
    async (signal) => {
      if (applied.trim() === "") return undefined;
      const body = { filter: JSON.parse(applied) as unknown };
      return (await call<{ count: number }>(`${path}/count`, { body, signal })).count;
    },
    [path, applied],
  );
  const apply = () => {
    setCursors([]);
    setShown(undefined);
    replaceParams({ filter: filter.trim() });
    if (filter.trim() === applied) reload();
  };
  return (
    <Card flush>
      <div class="filter-bar wrap documents-bar">
        <div class="field grow">
          <span class="label">Filter</span>
          <Editor
            language="json"
            label="Filter"
            value={filter}
            onChange={setFilter}
            onRun={apply}
            hint='{"term": {"kind": "fruit"}}'
          />
        </div>
        <Button onClick={apply}>Apply</Button>
        <FindById path={path} onFound={setShown} />
        <Button kind="primary" icon="plus" onClick={() => setAdding(true)}>
          Write
        </Button>
      </div>
      {problem === undefined ? null : (
        <div class="pad">
          <ProblemNotice problem={problem} retry={reload} />
        </div>
      )}
      {data === undefined ? (
        loading ? (
          <div class="pad">
            <Loading />
          </div>
        ) : null
      ) : data.documents.length === 0 ? (
        <Empty
          title="No documents"
          command={postCommand(path, '{"ops":[{"upsert":{"id":1,"source":{"title":"red apples"}}}]}')}
        >
          {applied === "" ? "Write the first one." : "None matches the filter."}
        </Empty>
      ) : (
        <div class={shown === undefined ? "" : "split"}>
          <ul class="rows" aria-label="Documents">
            {data.documents.map((document) => (
              <li key={document.id}>
                <button
                  type="button"
                  class="list-row"
                  aria-pressed={document.id === shown?.id}
                  onClick={() => setShown(document.id === shown?.id ? undefined : document)}
                >
                  <span class="offset">{document.id}</span>
                  <span class="grow mono">{JSON.stringify(document.source)}</span>
                  <span class="time">v{document.version}</span>
                </button>
              </li>
            ))}
          </ul>
          {shown === undefined ? null : (
            <DocumentView
              ns={ns}
              name={name}
              document={shown}
              onClose={() => setShown(undefined)}
              onDelete={() => setDeleting(shown)}
            />
          )}
        </div>
      )}
      <div class="filter-bar foot">
        <span class="muted">
          Page {format.count(cursors.length + 1)}, {pageSize} a page
          {matching.data === undefined ? "" : `, ${format.count(matching.data)} match the filter`}
        </span>
        <div class="actions">
          <Button small disabled={cursors.length === 0} onClick={() => setCursors(cursors.slice(0, -1))}>
            Back
          </Button>
          <Button
            small
            disabled={data?.next_cursor == null}
            onClick={() => setCursors([...cursors, data!.next_cursor!])}
          >
            Next
          </Button>
        </div>
      </div>
      {adding ? <WriteDialog path={path} onClose={() => setAdding(false)} onDone={reload} /> : null}
      {deleting === undefined ? null : (
        <DeleteDialog
          what="document"
          name={String(deleting.id)}
          consequence="The document leaves all indexes at once."
          onClose={() => setDeleting(undefined)}
          onDelete={async () => {
            await call(path, { body: { ops: [{ delete: { id: deleting.id } }] } });
            setShown(undefined);
            reload();
          }}
        />
      )}
    </Card>
  );
}

function FindById({ path, onFound }: { readonly path: string; readonly onFound: (document: StoredDocument) => void }) {
  const [id, setId] = useState("");
  const [missing, setMissing] = useState("");
  const find = async () => {
    try {
      onFound(await call<StoredDocument>(`${path}/${encodeURIComponent(id)}`));
      setMissing("");
    } catch (error) {
      setMissing((error as Error).message);
    }
  };
  return (
    <form
      class="seek"
      onSubmit={(event) => {
        event.preventDefault();
        if (id !== "") void find();
      }}
    >
      <TextField
        label="By id"
        type="number"
        min={0}
        value={id}
        onInput={setId}
        {...(missing === "" ? {} : { hint: missing })}
      />
      <Button type="submit">Get</Button>
    </form>
  );
}

interface DocumentViewProps {
  readonly ns: string;
  readonly name: string;
  readonly document: StoredDocument;
  readonly onClose: () => void;
  readonly onDelete: () => void;
}

function DocumentView({ ns, name, document, onClose, onDelete }: DocumentViewProps) {
  const vector = Object.keys(document.vectors)[0];
  return (
    <DetailPane label={`Document ${document.id}`}>
      <header class="card-head">
        <h2>Document {document.id}</h2>
        <div class="actions">
          {vector === undefined ? null : (
            <a
              class="button small"
              href={href(["ns", ns, "search"], { c: name, vector_field: vector, like: document.id, run: 1 })}
            >
              More like this
            </a>
          )}
          <Button small kind="quiet" icon="trash" label="Delete the document" onClick={onDelete} />
          <Button kind="quiet" icon="close" label="Close the document" onClick={onClose} />
        </div>
      </header>
      <JsonView
        value={{ id: document.id, version: document.version, source: document.source, vectors: document.vectors }}
        label="Document"
      />
    </DetailPane>
  );
}

function WriteDialog({
  path,
  onClose,
  onDone,
}: {
  readonly path: string;
  readonly onClose: () => void;
  readonly onDone: () => void;
}) {
  const [ops, setOps] = useState('[\n  {"upsert": {"id": 1, "source": {"title": "red apples"}, "vectors": {}}}\n]');
  const write = async () => {
    const answer = await call<{ results: readonly { status: string }[] }>(path, {
      body: { ops: JSON.parse(ops) as unknown },
    });
    const counts = new Map<string, number>();
    for (const { status } of answer.results) counts.set(status, (counts.get(status) ?? 0) + 1);
    toast([...counts].map(([status, count]) => `${count} ${status}`).join(", "));
    onDone();
  };
  return (
    <FormDialog title="Write documents" submit="Write" onClose={onClose} onSubmit={write} wide>
      <p class="muted">A list of upsert, insert, patch and delete: all of them happen, or none.</p>
      <Editor language="json" label="Operations" value={ops} onChange={setOps} lines minHeight={140} />
    </FormDialog>
  );
}
