import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { useAction } from "../lib/use-load.ts";
import { TextField } from "./fields.tsx";
import { Button, ProblemNotice } from "./parts.tsx";

export interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
  readonly wide?: boolean;
}

/** The browser's own modal dialog: it keeps the focus in, and Escape closes it. */
export function Dialog({ title, onClose, children, wide = false }: DialogProps) {
  const ref = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const dialog = ref.current!;
    if (!dialog.open) dialog.showModal();
    return () => dialog.close();
  }, []);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape is the dialog's own key
    <dialog
      ref={ref}
      class={wide ? "wide" : ""}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => {
        if (event.target === ref.current) onClose();
      }}
    >
      <div class="dialog-in">
        <header class="card-head">
          <h2 id={id}>{title}</h2>
          <Button kind="quiet" icon="close" label="Close" onClick={onClose} />
        </header>
        {children}
      </div>
    </dialog>
  );
}

export interface FormDialogProps extends DialogProps {
  readonly submit: string;
  readonly kind?: "primary" | "danger";
  readonly disabled?: boolean;
  readonly onSubmit: () => Promise<unknown>;
}

/** Closes when what it does has been done; shows why when it has not. */
export function FormDialog({
  onSubmit,
  submit,
  kind = "primary",
  disabled = false,
  children,
  ...dialog
}: FormDialogProps) {
  const action = useAction(async () => {
    await onSubmit();
    dialog.onClose();
  });
  return (
    <Dialog {...dialog}>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          void action.run();
        }}
      >
        {children}
        <ProblemNotice problem={action.problem} />
        <div class="actions end">
          <Button onClick={dialog.onClose}>Cancel</Button>
          <Button type="submit" kind={kind} busy={action.busy} disabled={disabled}>
            {submit}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

export interface DeleteDialogProps {
  readonly what: string;
  readonly name: string;
  readonly consequence: string;
  readonly onClose: () => void;
  readonly onDelete: () => Promise<unknown>;
}

/** What can't be undone is confirmed by writing its name. */
export function DeleteDialog({ what, name, consequence, onClose, onDelete }: DeleteDialogProps) {
  const [typed, setTyped] = useState("");
  return (
    <FormDialog
      title={`Delete ${what}`}
      submit={`Delete ${what}`}
      kind="danger"
      disabled={typed !== name}
      onClose={onClose}
      onSubmit={onDelete}
    >
      <p>
        {consequence} This can't be undone. Write <code>{name}</code> to confirm.
      </p>
      <TextField label="Name" value={typed} onInput={setTyped} mono autoFocus />
    </FormDialog>
  );
}
