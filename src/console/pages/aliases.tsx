import { useState } from "preact/hooks";
import { call, nsPath } from "../lib/api.ts";
import { useAction } from "../lib/use-load.ts";
import { FormDialog } from "../ui/dialog.tsx";
import { TextField } from "../ui/fields.tsx";
import { namePattern } from "../ui/list-page.tsx";
import { Badge, Button, ProblemNotice } from "../ui/parts.tsx";

interface AliasesProps {
  readonly ns: string;
  readonly collection: string;
  readonly aliases: readonly string[];
  readonly onChanged: () => void;
}

export function Aliases({ ns, collection, aliases, onChanged }: AliasesProps) {
  const [isAdding, setAdding] = useState(false);
  return (
    <>
      <span class="muted">Aliases</span>
      {aliases.map((alias) => (
        <RemovableAlias key={alias} ns={ns} alias={alias} onDone={onChanged} />
      ))}
      <Button small kind="quiet" icon="plus" needs="admin" onClick={() => setAdding(true)}>
        Add alias
      </Button>
      {isAdding ? (
        <AliasDialog ns={ns} collection={collection} onClose={() => setAdding(false)} onDone={onChanged} />
      ) : null}
    </>
  );
}

function RemovableAlias({
  ns,
  alias,
  onDone,
}: {
  readonly ns: string;
  readonly alias: string;
  readonly onDone: () => void;
}) {
  const remove = useAction(async () => {
    await call(nsPath(ns, "aliases"), { body: { actions: [{ remove: { alias } }] } });
    onDone();
  });
  return (
    <span class="alias">
      <Badge tone="accent">{alias}</Badge>
      <Button
        small
        needs="admin"
        kind="quiet"
        icon="close"
        label={`Remove the alias ${alias}`}
        busy={remove.busy}
        onClick={() => void remove.run()}
      />
      <ProblemNotice problem={remove.problem} />
    </span>
  );
}

interface AliasDialogProps {
  readonly ns: string;
  readonly collection: string;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

function AliasDialog({ ns, collection, onClose, onDone }: AliasDialogProps) {
  const [alias, setAlias] = useState("");
  const add = async () => {
    await call(nsPath(ns, "aliases"), { body: { actions: [{ add: { alias, collection } }] } });
    onDone();
  };
  return (
    <FormDialog title="Add alias" submit="Add" onClose={onClose} onSubmit={add}>
      <p class="muted">An alias of another collection moves here, for all readers at once.</p>
      <TextField label="Alias" value={alias} onInput={setAlias} required mono autoFocus pattern={namePattern} />
    </FormDialog>
  );
}
