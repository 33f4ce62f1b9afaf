import { useState } from "preact/hooks";
import { ApiError, call, callDocuments, nsPath, postCommand } from "../lib/api.ts";
import * as format from "../lib/format.ts";
import { href, replaceParams, route } from "../lib/router.ts";
import { may } from "../lib/session.ts";
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
  /** `new`, or the document that is edited. */
  const [writing, setWriting] = useState<"new" | StoredDocument | undefined>();
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
      return callDocuments<Page>(`${path}/scroll`, { body, signal });
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
        <Button kind="primary" icon="plus" needs="write" onClick={() => setWriting("new")}>
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
          {...(may("write")
            ? { command: postCommand(path, '{"ops":[{"insert":{"id":1,"source":{"title":"red apples"}}}]}') }
            : {})}
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
              onEdit={() => setWriting(shown)}
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
      {writing === undefined ? null : (
        <WriteDialog
          path={path}
          edited={writing === "new" ? undefined : writing}
          onClose={() => setWriting(undefined)}
          onDone={() => {
            setShown(undefined);
            reload();
          }}
        />
      )}
      {deleting === undefined ? null : (
        <DeleteDialog
          what="document"
          name={String(deleting.id)}
          consequence="The document leaves all indexes at once."
          onClose={() => setDeleting(undefined)}
          onDelete={async () => {
            await write(path, `[{"delete":{"id":${deleting.id},"if_version":${deleting.version}}}]`);
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

/** Sends operations as they were written; one whose condition did not hold is a failure to who pressed the button. */
async function write(path: string, ops: string): Promise<void> {
  const { results } = await call<{ results: readonly { id: number; status: string }[] }>(path, {
    body: `{"ops":${ops}}`,
  });
  const failed = results.find(({ status }) => status === "condition_failed");
  if (failed !== undefined) {
    throw new ApiError({
      status: 409,
      reason: "condition_failed",
      message: `Document ${failed.id} has changed since it was shown. Nothing was written.`,
      hint: "Close this, look at the document again and repeat what you want to change.",
    });
  }
  toast(results.map(({ id, status }) => `Document ${id}: ${status}`).join(", "));
}

/** Text that is sent as it is must be JSON of its own. */
function checked(what: string, text: string): string {
  try {
    JSON.parse(text);
    return text;
  } catch (error) {
    throw new Error(`${what}: ${(error as Error).message}`);
  }
}

interface WriteDialogProps {
  readonly path: string;
  /** Without one, a new document is made. */
  readonly edited: StoredDocument | undefined;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

function WriteDialog({ path, edited, onClose, onDone }: WriteDialogProps) {
  const [id, setId] = useState(edited === undefined ? "" : String(edited.id));
  const [source, setSource] = useState(edited === undefined ? "" : JSON.stringify(edited.source, undefined, 2));
  const [vectors, setVectors] = useState(textOf(edited?.vectors));
  const kind = edited === undefined ? "insert" : "upsert";
  const submit = async () => {
    const parts = [`"id":${checked("Id", id)}`, `"source":${checked("Source", source)}`];
    if (vectors.trim() !== "") parts.push(`"vectors":${checked("Vectors", vectors)}`);
    if (edited?.sparse_vectors !== undefined) {
      parts.push(`"sparse_vectors":${JSON.stringify(edited.sparse_vectors)}`);
    }
    if (edited !== undefined) parts.push(`"if_version":${edited.version}`);
    await write(path, `[{"${kind}":{${parts.join(",")}}}]`);
    onDone();
  };
  return (
    <FormDialog
      title={edited === undefined ? "New document" : `Edit document ${edited.id}`}
      submit={edited === undefined ? "Insert" : "Save"}
      disabled={id.trim() === "" || source.trim() === ""}
      onClose={onClose}
      onSubmit={submit}
      wide
    >
      <p class="muted">
        {edited === undefined
          ? "An id that is taken is refused; open that document to edit it."
          : `Replaces version ${edited.version}; refused if somebody has changed the document since.`}
      </p>
      {edited === undefined ? (
        <TextField label="Id" type="number" min={0} value={id} onInput={setId} required autoFocus />
      ) : null}
      <div class="field">
        <span class="label">Source</span>
        <Editor
          language="json"
          label="Source"
          value={source}
          onChange={setSource}
          lines
          minHeight={140}
          hint='{"title": "red apples"}'
        />
      </div>
      <div class="field">
        <span class="label">Vectors</span>
        <Editor
          language="json"
          label="Vectors"
          value={vectors}
          onChange={setVectors}
          hint='{"embedding": [0.1, 0.2]}'
        />
      </div>
    </FormDialog>
  );
}

function textOf(vectors: StoredDocument["vectors"] | undefined): string {
  return vectors === undefined || Object.keys(vectors).length === 0 ? "" : JSON.stringify(vectors);
}
