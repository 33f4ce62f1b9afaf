import { useState } from "preact/hooks";
import { authHeaders, type CallOptions, seg } from "../lib/api.ts";
import { addressed } from "../lib/router.ts";
import { namespaces } from "../lib/session.ts";
import { Dialog } from "../ui/dialog.tsx";
import { Field, TextField } from "../ui/fields.tsx";
import { Button, CodeBlock } from "../ui/parts.tsx";

/** An operation of the API, as the reference describes it. */
export interface Operation {
  readonly method: NonNullable<CallOptions["method"]>;
  readonly path: string;
  readonly parameters: readonly {
    readonly name: string;
    readonly in: "path" | "query";
    readonly required: boolean;
    readonly description: string;
  }[];
  /** An example; undefined where there is none to send. */
  readonly body?: string;
}

/** Answers are shown up to here. */
const shownMax = 20_000;

/** Sends one request of the API and shows what comes back, as it comes. */
export function TryIt({ operation, onClose }: { readonly operation: Operation; readonly onClose: () => void }) {
  const { method, parameters } = operation;
  const namespace = addressed.value ?? namespaces.value?.[0]?.name ?? "";
  const [values, setValues] = useState<Readonly<Record<string, string>>>({ ns: namespace });
  const [body, setBody] = useState(operation.body);
  const [answer, setAnswer] = useState<string | undefined>();
  const [busy, setBusy] = useState(false);
  const send = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setAnswer(await answerOf(addressOf(operation, values), method, body));
    setBusy(false);
  };
  return (
    <Dialog title={`${method} ${operation.path}`} onClose={onClose} wide>
      <form class="try" onSubmit={send}>
        <div class="fields">
          {parameters.map(({ name, required, description }) => (
            <TextField
              key={name}
              label={name}
              value={values[name] ?? ""}
              required={required}
              mono
              hint={description}
              onInput={(value) => setValues({ ...values, [name]: value })}
            />
          ))}
        </div>
        {body === undefined ? null : (
          <Field label="Body" wide>
            {(id) => (
              <textarea
                id={id}
                class="mono"
                rows={Math.min(12, body.split("\n").length + 1)}
                spellcheck={false}
                value={body}
                onInput={(event) => setBody(event.currentTarget.value)}
              />
            )}
          </Field>
        )}
        <Button type="submit" kind={method === "DELETE" ? "danger" : "primary"} busy={busy} icon="play">
          Send {method}
        </Button>
        {answer === undefined ? null : <CodeBlock text={answer} label="Answer" />}
      </form>
    </Dialog>
  );
}

function addressOf({ path, parameters }: Operation, values: Readonly<Record<string, string>>): string {
  const query = new URLSearchParams();
  let address = path;
  for (const { name, in: place } of parameters) {
    const value = values[name] ?? "";
    if (place === "path") address = address.replace(`{${name}}`, seg(value));
    else if (value !== "") query.set(name, value);
  }
  return query.size === 0 ? address : `${address}?${query}`;
}

async function answerOf(address: string, method: string, body: string | undefined): Promise<string> {
  try {
    const response = await fetch(address, {
      method,
      headers: { ...(body === undefined ? {} : { "content-type": "application/json" }), ...authHeaders() },
      ...(body === undefined ? {} : { body }),
    });
    const text = await startOf(response);
    const shown = response.headers.get("content-type")?.includes("json") ? indented(text) : text;
    return `${response.status} ${response.statusText}\n\n${shown.slice(0, shownMax)}`;
  } catch {
    return "The server does not answer.";
  }
}

/** No more than is shown is read: a backup is as large as the data. */
async function startOf(response: Response): Promise<string> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  while (reader !== undefined && text.length < shownMax) {
    const { done, value } = await reader.read();
    if (done) return text;
    text += value;
  }
  await reader?.cancel();
  return text;
}

function indented(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json), null, 2);
  } catch {
    return json;
  }
}
