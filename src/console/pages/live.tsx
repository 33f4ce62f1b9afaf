import { useState } from "preact/hooks";
import { call, nsPath, postCommand } from "../lib/api.ts";
import * as format from "../lib/format.ts";
import { replaceParams, route } from "../lib/router.ts";
import { may } from "../lib/session.ts";
import { useAction, useLoad } from "../lib/use-load.ts";
import { FormDialog } from "../ui/dialog.tsx";
import { Editor } from "../ui/editor.tsx";
import { SelectField, TextField } from "../ui/fields.tsx";
import { JsonView } from "../ui/json-view.tsx";
import { Badge, Button, Card, Empty, Loading, PageHead, ProblemNotice, Tabs } from "../ui/parts.tsx";
import { Runs, Sessions } from "./live-activity.tsx";
import { runLive } from "./live-call.ts";
import { LiveDocuments } from "./live-documents.tsx";

interface LiveFunction {
  readonly name: string;
  readonly kind: "query" | "mutation";
  readonly args?: Readonly<Record<string, unknown>>;
}

interface Overview {
  readonly version: number;
  readonly tick: number;
  readonly tables: readonly { readonly table: string }[];
  readonly functions: readonly LiveFunction[];
  readonly sessions: number;
}

const refreshMs = 5_000;

/** The Live engine of a namespace: its tables, its functions, what ran, and who watches. */
export function LivePage({ ns }: { readonly ns: string }) {
  const { data, problem, reload } = useLoad(
    (signal) => call<Overview>(nsPath(ns, "live"), { signal }),
    [ns],
    refreshMs,
  );
  const tab = route.value.params.get("tab") ?? "tables";
  const [creating, setCreating] = useState(false);
  const tabs = [
    ["tables", "Tables"],
    ["functions", "Functions"],
    ...(may("admin")
      ? ([
          ["runs", "Runs"],
          ["sessions", "Sessions"],
        ] as const)
      : []),
  ] as const;
  return (
    <>
      <PageHead
        title="Live"
        note={
          data === undefined
            ? "Tables, functions and queries that stay up to date."
            : `Tick ${format.count(data.tick)}, deployment ${format.count(data.version)}, ${format.count(data.sessions)} open sessions.`
        }
      />
      {problem === undefined ? null : <ProblemNotice problem={problem} retry={reload} />}
      <Tabs label="Parts of the Live engine" tabs={tabs} active={tab} onChange={(id) => replaceParams({ tab: id })} />
      {data === undefined ? (
        <Loading />
      ) : tab === "functions" ? (
        <Functions ns={ns} functions={data.functions} />
      ) : tab === "runs" ? (
        <Runs ns={ns} />
      ) : tab === "sessions" ? (
        <Sessions ns={ns} />
      ) : data.tables.length === 0 ? (
        <Empty
          title={`No live tables in ${ns}`}
          command={postCommand(nsPath(ns, "live", "mutate"), '{"function":"_tables:create","args":{"table":"tasks"}}')}
          action={
            <Button kind="primary" icon="plus" needs="admin" onClick={() => setCreating(true)}>
              Create table
            </Button>
          }
        >
          A table holds JSON documents that sessions watch.
        </Empty>
      ) : (
        <Tables ns={ns} tables={data.tables.map(({ table }) => table)} onCreate={() => setCreating(true)} />
      )}
      {creating ? <CreateTable ns={ns} onClose={() => setCreating(false)} onDone={reload} /> : null}
    </>
  );
}

interface TablesProps {
  readonly ns: string;
  readonly tables: readonly string[];
  readonly onCreate: () => void;
}

function Tables({ ns, tables, onCreate }: TablesProps) {
  const asked = route.value.params.get("table") ?? "";
  const table = tables.includes(asked) ? asked : tables[0]!;
  return (
    <Card flush>
      <div class="filter-bar wrap">
        <SelectField
          label="Table"
          value={table}
          onChange={(name) => replaceParams({ table: name })}
          options={tables.map((name) => [name, name] as const)}
        />
        <Button icon="plus" needs="admin" onClick={onCreate}>
          Create table
        </Button>
      </div>
      <LiveDocuments key={table} ns={ns} table={table} />
    </Card>
  );
}

interface CreateTableProps {
  readonly ns: string;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

function CreateTable({ ns, onClose, onDone }: CreateTableProps) {
  const [name, setName] = useState("");
  const [fields, setFields] = useState("");
  const create = async () => {
    const args = { table: name, ...(fields.trim() === "" ? {} : { fields: JSON.parse(fields) as unknown }) };
    await runLive(ns, "mutate", "_tables:create", args);
    replaceParams({ tab: "tables", table: name });
    onDone();
  };
  return (
    <FormDialog title="New live table" submit="Create" disabled={name === ""} onClose={onClose} onSubmit={create}>
      <TextField label="Name" value={name} onInput={setName} required autoFocus />
      <div class="field">
        <span class="label">Fields, or nothing for any document</span>
        <Editor
          language="json"
          label="Fields"
          value={fields}
          onChange={setFields}
          lines
          minHeight={100}
          hint='{"title": {"type": "string"}}'
        />
      </div>
    </FormDialog>
  );
}

function Functions({ ns, functions }: { readonly ns: string; readonly functions: readonly LiveFunction[] }) {
  const [chosen, setChosen] = useState<LiveFunction | undefined>();
  if (functions.length === 0) {
    return (
      <Empty title={`No functions in ${ns}`} command={`native-engine live deploy ./functions -n ${ns}`}>
        A folder of modules becomes queries and mutations.
      </Empty>
    );
  }
  return (
    <Card flush>
      <ul class="rows" aria-label="Functions">
        {functions.map((each) => (
          <li key={each.name}>
            <button
              type="button"
              class="list-row"
              aria-pressed={each.name === chosen?.name}
              onClick={() => setChosen(each.name === chosen?.name ? undefined : each)}
            >
              <span class="grow mono">{each.name}</span>
              <span class="muted mono">{Object.keys(each.args ?? {}).join(", ")}</span>
              <Badge>{each.kind}</Badge>
            </button>
          </li>
        ))}
      </ul>
      {chosen === undefined ? null : <RunFunction key={chosen.name} ns={ns} chosen={chosen} />}
    </Card>
  );
}

function RunFunction({ ns, chosen }: { readonly ns: string; readonly chosen: LiveFunction }) {
  const [args, setArgs] = useState("");
  const [result, setResult] = useState<unknown>();
  const action = useAction(async () => {
    const parsed = args.trim() === "" ? {} : (JSON.parse(args) as object);
    setResult(await runLive(ns, chosen.kind === "query" ? "query" : "mutate", chosen.name, parsed));
  });
  return (
    <div class="pad form">
      <div class="field">
        <span class="label">Arguments of {chosen.name}</span>
        <Editor language="json" label="Arguments" value={args} onChange={setArgs} hint="{}" />
      </div>
      <div class="actions">
        <Button
          kind="primary"
          icon="play"
          busy={action.busy}
          {...(chosen.kind === "mutation" ? { needs: "write" as const } : {})}
          onClick={() => void action.run()}
        >
          Run
        </Button>
      </div>
      <ProblemNotice problem={action.problem} />
      {result === undefined ? null : <JsonView value={result} label="Result" />}
    </div>
  );
}
