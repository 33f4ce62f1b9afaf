import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import * as format from "../lib/format.ts";
import { navigate, replaceParams, route } from "../lib/router.ts";
import { may, type Need } from "../lib/session.ts";
import type { Loaded } from "../lib/use-load.ts";
import { Awaited } from "./awaited.tsx";
import { FormDialog } from "./dialog.tsx";
import { TextField } from "./fields.tsx";
import { Button, Card, Empty, PageHead } from "./parts.tsx";
import { toast } from "./toast.tsx";
import { VirtualList } from "./virtual-list.tsx";

export const namePattern = "[A-Za-z0-9][A-Za-z0-9._\\-]{0,127}";
const nameHint = "Letters, digits, dot, dash and underscore; at most 128.";

export interface ListPageProps<T> {
  readonly title: string;
  readonly note: string;
  /** What one of them is called. */
  readonly what: string;
  readonly list: Loaded<readonly T[]>;
  readonly nameOf: (item: T) => string;
  readonly row: (item: T) => ComponentChildren;
  /** What there is to say and to type where there is none yet. */
  readonly empty: { readonly title: string; readonly text: string; readonly command: string };
  /** The dialog that makes a new one. */
  readonly create: (onClose: () => void) => ComponentChildren;
  readonly createAtOnce?: boolean;
  readonly createNeeds?: Need;
}

/** The frame of every list: what there is by name, found by a filter that is in the address, and a way to make one. */
export function ListPage<T>(props: ListPageProps<T>) {
  const { title, note, what, list, empty, create } = props;
  const { data, reload } = list;
  const needs = props.createNeeds ?? "admin";
  const [creating, setCreating] = useState((props.createAtOnce ?? false) && may(needs));
  const createButton = (
    <Button kind="primary" icon="plus" needs={needs} onClick={() => setCreating(true)}>
      Create {what}
    </Button>
  );
  const isEmpty = data?.length === 0;
  return (
    <>
      <PageHead title={title} note={note}>
        <Button icon="refresh" onClick={reload}>
          Reload
        </Button>
        {isEmpty ? null : createButton}
      </PageHead>
      <Awaited loaded={list}>
        {(items) =>
          items.length === 0 ? (
            <Card>
              <Empty title={empty.title} {...(may(needs) ? { command: empty.command } : {})} action={createButton}>
                {empty.text}
              </Empty>
            </Card>
          ) : (
            <Card flush>
              <FilteredList {...props} items={items} />
            </Card>
          )
        }
      </Awaited>
      {creating ? create(() => setCreating(false)) : null}
    </>
  );
}

function FilteredList<T>({
  title,
  what,
  list,
  items,
  nameOf,
  row,
}: ListPageProps<T> & { readonly items: readonly T[] }) {
  const filter = route.value.params.get("filter") ?? "";
  const shown = useMemo(() => {
    const wanted = filter.trim().toLowerCase();
    return wanted === "" ? items : items.filter((item) => nameOf(item).toLowerCase().includes(wanted));
  }, [items, filter]);
  const all = `${format.count(items.length)}${list.partial ? "…" : ""}`;
  return (
    <>
      <div class="filter-bar">
        <TextField
          label="Filter by name"
          hideLabel
          type="search"
          placeholder="Filter by name"
          value={filter}
          onInput={(value) => replaceParams({ filter: value })}
        />
        <span class="muted" role="status">
          {shown.length === items.length ? all : `${format.count(shown.length)} of ${all}`}
        </span>
      </div>
      {shown.length === 0 ? (
        <Empty
          title={`No ${what} matches`}
          action={<Button onClick={() => replaceParams({ filter: undefined })}>Clear the filter</Button>}
        >
          The filter looks for a part of the name, in upper or lower case.
        </Empty>
      ) : (
        <VirtualList label={title} items={shown} rowHeight={46} keyOf={nameOf} row={row} />
      )}
    </>
  );
}

export interface CreateDialogProps {
  readonly what: string;
  readonly onClose: () => void;
  readonly onCreate: (name: string) => Promise<unknown>;
  /** The page of the new one. */
  readonly pathOf: (name: string) => readonly string[];
  readonly children?: ComponentChildren;
  readonly wide?: boolean;
}

/** Asks for a name and what else the kind needs; then shows what was made. */
export function CreateDialog({ what, onClose, onCreate, pathOf, children, wide = false }: CreateDialogProps) {
  const [name, setName] = useState("");
  const create = async () => {
    await onCreate(name);
    toast(`Created ${name}`);
    navigate(pathOf(name));
  };
  return (
    <FormDialog title={`Create ${what}`} submit="Create" onClose={onClose} onSubmit={create} wide={wide}>
      <TextField
        label="Name"
        value={name}
        onInput={setName}
        required
        mono
        autoFocus
        pattern={namePattern}
        hint={nameHint}
      />
      {children}
    </FormDialog>
  );
}
