import { useState } from "preact/hooks";
import { ApiError, call } from "../lib/api.ts";
import type { StoredDocument } from "../lib/types.ts";
import { FormDialog } from "../ui/dialog.tsx";
import { Editor } from "../ui/editor.tsx";
import { TextField } from "../ui/fields.tsx";
import { toast } from "../ui/toast.tsx";

/** Sends operations as they were written; one whose condition did not hold is a failure to who pressed the button. */
export async function writeDocuments(path: string, ops: string): Promise<void> {
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

export function WriteDialog({ path, edited, onClose, onDone }: WriteDialogProps) {
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
    await writeDocuments(path, `[{"${kind}":{${parts.join(",")}}}]`);
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
