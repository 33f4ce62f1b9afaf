import { useState } from "preact/hooks";
import { call, callDocuments, nsPath, postCommand } from "../lib/api.ts";
import * as format from "../lib/format.ts";
import { href, replaceParams, route } from "../lib/router.ts";
import { may } from "../lib/session.ts";
import type { StoredDocument } from "../lib/types.ts";
import { useLoad } from "../lib/use-load.ts";
import { DeleteDialog } from "../ui/dialog.tsx";
import { Editor } from "../ui/editor.tsx";
import { TextField } from "../ui/fields.tsx";
import { JsonView } from "../ui/json-view.tsx";
import { Button, Card, DetailPane, Empty, Loading, ProblemNotice } from "../ui/parts.tsx";
import { WriteDialog, writeDocuments } from "./write-dialog.tsx";

interface DocumentPage {
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
  /** `new`, or the document that is edited. */
  const [writing, setWriting] = useState<"new" | StoredDocument | undefined>();
  const [deleting, setDeleting] = useState<StoredDocument | undefined>();
  const cursor = cursors.at(-1);
  const { data, problem, loading, reload } = useDocumentPage(path, applied, cursor);
  const matching = useMatching(path, applied);
  const apply = () => {
    setCursors([]);
    setShown(undefined);
    replaceParams({ filter: filter.trim() });
    if (filter.trim() === applied) reload();
  };
  const onWritten = () => {
    setShown(undefined);
    reload();
  };
  return (
    <Card flush>
      <div class="filter-bar wrap documents-bar">
        <FilterField value={filter} onChange={setFilter} onRun={apply} />
        <Button onClick={apply}>Apply</Button>
        <FindById path={path} onFound={setShown} />
        <Button kind="primary" icon="plus" needs="write" onClick={() => setWriting("new")}>
          Write
        </Button>
      </div>
      {problem === undefined ? null : (
        <div class="pad">
          <ProblemNotice problem={problem} retry={reload} />
        </div>
      )}
      {data === undefined && loading ? <PaddedLoading /> : null}
      {data?.documents.length === 0 ? <NoDocuments path={path} isFiltered={applied !== ""} /> : null}
      {data === undefined || data.documents.length === 0 ? null : (
        <div class={shown === undefined ? "" : "split"}>
          <DocumentList documents={data.documents} shown={shown} onShow={setShown} />
          {shown === undefined ? null : (
            <DocumentView
              ns={ns}
              name={name}
              document={shown}
              onClose={() => setShown(undefined)}
              onEdit={() => setWriting(shown)}
              onDelete={() => setDeleting(shown)}
            />
          )}
        </div>
      )}
      <Pager cursors={cursors} next={data?.next_cursor} matching={matching.data} onMove={setCursors} />
      {writing === undefined ? null : (
        <WriteDialog
          path={path}
          edited={writing === "new" ? undefined : writing}
          onClose={() => setWriting(undefined)}
          onDone={onWritten}
        />
      )}
      {deleting === undefined ? null : (
        <DeleteDocument path={path} document={deleting} onClose={() => setDeleting(undefined)} onDone={onWritten} />
      )}
    </Card>
  );
}

function useDocumentPage(path: string, filter: string, cursor: string | undefined) {
  return useLoad(
    (signal) => {
      const parsed = filter.trim() === "" ? undefined : (JSON.parse(filter) as unknown);
      const body = {
        limit: pageSize,
        ...(parsed === undefined ? {} : { filter: parsed }),
        ...(cursor === undefined ? {} : { cursor }),
      };
      return callDocuments<DocumentPage>(`${path}/scroll`, { body, signal });
    },
    [path, filter, cursor],
  );
}

/** How many documents match the filter, where there is one. */
function useMatching(path: string, filter: string) {
  return useLoad(
    async (signal) => {
      if (filter.trim() === "") return undefined;
      const body = { filter: JSON.parse(filter) as unknown };
      return (await call<{ count: number }>(`${path}/count`, { body, signal })).count;
    },
    [path, filter],
  );
}

interface FilterFieldProps {
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly onRun: () => void;
}

function FilterField(props: FilterFieldProps) {
  return (
    <div class="field grow">
      <span class="label">Filter</span>
      <Editor language="json" label="Filter" {...props} hint='{"term": {"kind": "fruit"}}' />
    </div>
  );
}

function PaddedLoading() {
  return (
    <div class="pad">
      <Loading />
    </div>
  );
}

function NoDocuments({ path, isFiltered }: { readonly path: string; readonly isFiltered: boolean }) {
  const example = '{"ops":[{"insert":{"id":1,"source":{"title":"red apples"}}}]}';
  return (
    <Empty title="No documents" {...(may("write") ? { command: postCommand(path, example) } : {})}>
      {isFiltered ? "None matches the filter." : "Write the first one."}
    </Empty>
  );
}

interface DocumentListProps {
  readonly documents: readonly StoredDocument[];
  readonly shown: StoredDocument | undefined;
  readonly onShow: (document: StoredDocument | undefined) => void;
}

function DocumentList({ documents, shown, onShow }: DocumentListProps) {
  return (
    <ul class="rows" aria-label="Documents">
      {documents.map((document) => (
        <li key={document.id}>
          <button
            type="button"
            class="list-row"
            aria-pressed={document.id === shown?.id}
            onClick={() => onShow(document.id === shown?.id ? undefined : document)}
          >
            <span class="offset">{document.id}</span>
            <span class="grow mono">{JSON.stringify(document.source)}</span>
            <span class="time">v{document.version}</span>
          </button>
        </li>
      ))}
    </ul>
  );
}

interface PagerProps {
  /** Of the pages after the first, up to the one that is shown. */
  readonly cursors: readonly string[];
  readonly next: string | null | undefined;
  readonly matching: number | undefined;
  readonly onMove: (cursors: readonly string[]) => void;
}

function Pager({ cursors, next, matching, onMove }: PagerProps) {
  return (
    <div class="filter-bar foot">
      <span class="muted">
        Page {format.count(cursors.length + 1)}, {pageSize} a page
        {matching === undefined ? "" : `, ${format.count(matching)} match the filter`}
      </span>
      <div class="actions">
        <Button small disabled={cursors.length === 0} onClick={() => onMove(cursors.slice(0, -1))}>
          Back
        </Button>
        <Button small disabled={next == null} onClick={() => onMove([...cursors, next!])}>
          Next
        </Button>
      </div>
    </div>
  );
}

interface DeleteDocumentProps {
  readonly path: string;
  readonly document: StoredDocument;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

function DeleteDocument({ path, document: { id, version }, onClose, onDone }: DeleteDocumentProps) {
  const onDelete = async () => {
    await writeDocuments(path, `[{"delete":{"id":${id},"if_version":${version}}}]`);
    onDone();
  };
  const consequence = "The document leaves all indexes at once.";
  return (
    <DeleteDialog what="document" name={String(id)} consequence={consequence} onClose={onClose} onDelete={onDelete} />
  );
}

function FindById({ path, onFound }: { readonly path: string; readonly onFound: (document: StoredDocument) => void }) {
  const [id, setId] = useState("");
  const [missing, setMissing] = useState("");
  const find = async () => {
    try {
      onFound(await callDocuments<StoredDocument>(`${path}/${encodeURIComponent(id)}`));
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
  readonly onEdit: () => void;
  readonly onDelete: () => void;
}

function DocumentView({ ns, name, document, onClose, onEdit, onDelete }: DocumentViewProps) {
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
          <Button small icon="edit" needs="write" onClick={onEdit}>
            Edit
          </Button>
          <Button small kind="quiet" icon="trash" needs="write" label="Delete the document" onClick={onDelete} />
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
