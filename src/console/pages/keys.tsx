import { useState } from "preact/hooks";
import { call, postCommand } from "../lib/api.ts";
import { namespaces } from "../lib/session.ts";
import { useLoad } from "../lib/use-load.ts";
import { Dialog, FormDialog } from "../ui/dialog.tsx";
import { SelectField, TextField } from "../ui/fields.tsx";
import { ListPage, namePattern } from "../ui/list-page.tsx";
import { Badge, Button, CodeBlock } from "../ui/parts.tsx";
import { toast } from "../ui/toast.tsx";

interface Key {
  readonly name: string;
  readonly id: string;
  readonly role: string;
  readonly namespaces: readonly string[] | null;
  readonly status: "live" | "expired" | "revoked";
  readonly created_at: string;
  readonly expires_at: string | null;
}

const keysPath = "/v1/instance/keys";
const dayMs = 24 * 3_600_000;
const roles = [
  ["reader", "reader: reads"],
  ["writer", "writer: also writes data"],
  ["admin", "admin: also creates and drops"],
] as const;

const day = (time: string) => time.slice(0, 10);

export function KeysPage() {
  const list = useLoad<readonly Key[]>(
    async (signal) => (await call<{ keys: readonly Key[] }>(keysPath, { signal })).keys,
    [],
  );
  const [revoking, setRevoking] = useState<Key | undefined>();
  const [newKey, setNewKey] = useState<string | undefined>();
  return (
    <>
      <ListPage
        title="API keys"
        note="Who may call, and what they may do. A key is shown once, when it is created."
        what="key"
        list={list}
        // A name may be used again once its key has ended.
        nameOf={({ name, id }) => `${name} ${id}`}
        empty={{
          title: "No keys yet",
          text: "Keys from SERVICE_API_KEYS are not listed.",
          command: postCommand(keysPath, '{"name":"ci","role":"writer"}'),
        }}
        row={(key) => (
          <div class="list-row">
            <span class="grow">{key.name}</span>
            <span class="muted">{key.namespaces?.join(", ") ?? "all namespaces"}</span>
            <Badge>{key.role}</Badge>
            <span class="muted">{key.expires_at === null ? "never expires" : `until ${day(key.expires_at)}`}</span>
            {key.status === "live" ? (
              <Button
                small
                kind="quiet"
                icon="trash"
                needs="instance-admin"
                label={`Revoke ${key.name}`}
                onClick={() => setRevoking(key)}
              />
            ) : (
              <Badge tone="warn">{key.status}</Badge>
            )}
          </div>
        )}
        create={(onClose) => <CreateKey onClose={onClose} onMade={setNewKey} reload={list.reload} />}
        createNeeds="instance-admin"
      />
      {revoking === undefined ? null : (
        <FormDialog
          title={`Revoke ${revoking.name}`}
          submit="Revoke"
          kind="danger"
          onClose={() => setRevoking(undefined)}
          onSubmit={async () => {
            await call(`${keysPath}/${encodeURIComponent(revoking.name)}`, { method: "DELETE" });
            list.reload();
            toast(`Revoked ${revoking.name}`);
          }}
        >
          <p>Whoever uses it is refused from the next request on. This can't be undone.</p>
        </FormDialog>
      )}
      {newKey === undefined ? null : (
        <Dialog title="Your new key, shown only once" onClose={() => setNewKey(undefined)}>
          <CodeBlock label="API key" text={newKey} />
          <p class="muted">Send it as “Authorization: Bearer …”. Only its hash is stored.</p>
        </Dialog>
      )}
    </>
  );
}

interface CreateKeyProps {
  readonly onClose: () => void;
  readonly onMade: (key: string) => void;
  readonly reload: () => void;
}

function CreateKey({ onClose, onMade, reload }: CreateKeyProps) {
  const [name, setName] = useState("");
  const [role, setRole] = useState("reader");
  const [namespace, setNamespace] = useState("");
  const [others, setOthers] = useState("");
  const [days, setDays] = useState("90");
  const create = async () => {
    const body = {
      name,
      role,
      ...(namespace === "" ? {} : { namespaces: [namespace, ...(others.match(/[^\s,]+/g) ?? [])] }),
      ...(days === "" ? {} : { lifetime_ms: Number(days) * dayMs }),
    };
    onMade((await call<{ key: string }>(keysPath, { body })).key);
    reload();
  };
  const scopes = [["", "all namespaces"], ...(namespaces.value ?? []).map((each) => [each.name, each.name])];
  return (
    <FormDialog title="Create key" submit="Create" onClose={onClose} onSubmit={create}>
      <TextField label="Name" value={name} onInput={setName} required mono autoFocus pattern={namePattern} />
      <SelectField label="Role" value={role} onChange={setRole} options={roles} />
      <SelectField label="Namespace" value={namespace} onChange={setNamespace} options={scopes as [string, string][]} />
      {namespace === "" ? null : (
        <TextField
          label="Other namespaces"
          value={others}
          onInput={setOthers}
          mono
          hint="Optional, separated by commas."
        />
      )}
      <TextField
        label="Days"
        type="number"
        min={1}
        value={days}
        onInput={setDays}
        hint="Leave it empty for a key that never expires."
      />
    </FormDialog>
  );
}
