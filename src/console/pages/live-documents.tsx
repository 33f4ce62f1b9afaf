import { useState } from "preact/hooks";
import * as format from "../lib/format.ts";
import { useLoad } from "../lib/use-load.ts";
import { FormDialog } from "../ui/dialog.tsx";
import { Editor } from "../ui/editor.tsx";
import { Button, Empty, Loading, ProblemNotice } from "../ui/parts.tsx";
import { toast } from "../ui/toast.tsx";
import { runLive } from "./live-call.ts";

type LiveDocument = Readonly<Record<string, unknown>> & { readonly _id: string; readonly _creationTime: number };

const shownMax = 100;
const refreshMs = 2_000;

/** The newest documents of a live table, with edit. */
export function LiveDocuments({ ns, table }: { readonly ns: string; readonly table: string }) {
  const { data, problem, reload } = useLoad(
    async () => {
      const args = { table, order: "desc", limit: shownMax };
      const [documents, count] = await Promise.all([
        runLive(ns, "query", "_tables:list", args),
        runLive(ns, "query", "_tables:count", { table }),
      ]);
      return { documents: documents as readonly LiveDocument[], count: count as number };
    },
    [ns, table],
    refreshMs,
  );
  const [writing, setWriting] = useState<"new" | LiveDocument | undefined>();
  const remove = async ({ _id }: LiveDocument) => {
    await runLive(ns, "mutate", "_tables:remove", { id: _id });
    toast(`Document ${_id} is removed`);
    setWriting(undefined);
    reload();
  };
  return (
    <>
      {problem === undefined ? null : (
        <div class="pad">
          <ProblemNotice problem={problem} retry={reload} />
        </div>
      )}
      {data === undefined ? (
        <div class="pad">
          <Loading />
        </div>
      ) : data.documents.length === 0 ? (
        <Empty title="No documents">Insert the first one.</Empty>
      ) : (
        <ul class="rows" aria-label="Live documents">
          {data.documents.map((document) => (
            <li key={document._id}>
              <button type="button" class="list-row" onClick={() => setWriting(document)}>
                <span class="grow mono">{textOf(document)}</span>
                <span class="time">{new Date(document._creationTime).toLocaleTimeString()}</span>
              </button>
            </li>
          ))}
        </ul>
      )}
      <div class="filter-bar foot">
        <span class="muted">{data === undefined ? "" : `${format.count(data.count)} documents, the newest first`}</span>
        <div class="actions">
          <Button small icon="plus" needs="write" onClick={() => setWriting("new")}>
            Insert
          </Button>
        </div>
      </div>
      {writing === undefined ? null : (
        <WriteDocument
          ns={ns}
          table={table}
          edited={writing === "new" ? undefined : writing}
          onClose={() => setWriting(undefined)}
          onDone={reload}
          onRemove={remove}
        />
      )}
    </>
  );
}

function textOf({ _id: _, _creationTime: __, ...own }: LiveDocument, indent?: number): string {
  return JSON.stringify(own, undefined, indent);
}

interface WriteDocumentProps {
  readonly ns: string;
  readonly table: string;
  readonly edited: LiveDocument | undefined;
  readonly onClose: () => void;
  readonly onDone: () => void;
  readonly onRemove: (document: LiveDocument) => Promise<void>;
}

function WriteDocument({ ns, table, edited, onClose, onDone, onRemove }: WriteDocumentProps) {
  const [text, setText] = useState(edited === undefined ? "" : textOf(edited, 2));
  const save = async () => {
    const document = JSON.parse(text) as object;
    if (edited === undefined) await runLive(ns, "mutate", "_tables:insert", { table, document });
    else await runLive(ns, "mutate", "_tables:replace", { id: edited._id, document });
    onDone();
  };
  return (
    <FormDialog
      title={edited === undefined ? `New document of ${table}` : "Edit document"}
      submit={edited === undefined ? "Insert" : "Save"}
      disabled={text.trim() === ""}
      onClose={onClose}
      onSubmit={save}
      wide
    >
      {edited === undefined ? null : <p class="muted mono">{edited._id}</p>}
      <div class="field">
        <span class="label">Document</span>
        <Editor
          language="json"
          label="Document"
          value={text}
          onChange={setText}
          lines
          minHeight={140}
          hint='{"title": "write"}'
        />
      </div>
      {edited === undefined ? null : (
        <div class="actions">
          <Button kind="danger" icon="trash" needs="write" onClick={() => void onRemove(edited)}>
            Remove
          </Button>
        </div>
      )}
    </FormDialog>
  );
}
