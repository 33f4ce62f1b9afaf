import { useState } from "preact/hooks";
import { call, nsPath } from "../lib/api.ts";
import { href, navigate } from "../lib/router.ts";
import type { CollectionInfo, LinkItem, StreamItem } from "../lib/types.ts";
import { useLoad } from "../lib/use-load.ts";
import { FormDialog } from "../ui/dialog.tsx";
import { Editor } from "../ui/editor.tsx";
import {
  Badge,
  Button,
  Card,
  Empty,
  Loading,
  PageHead,
  ProblemNotice,
  SelectField,
  TableFrame,
  TextField,
} from "../ui/parts.tsx";
import { toast } from "../ui/toast.tsx";
import { nameHint, namePattern } from "./namespaces.tsx";

export function LinkStatus({ status, error }: { readonly status: string; readonly error?: string | undefined }) {
  if (error !== undefined) return <Badge tone="bad">stopped</Badge>;
  return <Badge tone={status === "running" ? "good" : "warn"}>{status}</Badge>;
}

export function LinksPage({ ns }: { readonly ns: string }) {
  const [creating, setCreating] = useState(false);
  const { data, problem, reload } = useLoad(
    async (signal) => (await call<{ links: LinkItem[] }>(nsPath(ns, "links"), { signal })).links,
    [ns],
    5_000,
  );
  return (
    <>
      <PageHead title="Links" note="Pipes from a stream into counters or a collection, exactly once.">
        <Button kind="primary" icon="plus" onClick={() => setCreating(true)}>
          Create link
        </Button>
      </PageHead>
      <ProblemNotice problem={problem} retry={reload} />
      {data === undefined ? (
        problem === undefined ? (
          <Loading />
        ) : null
      ) : (
        <Card flush>
          {data.length === 0 ? (
            <Empty
              title={`No links in ${ns}`}
              command={`curl -X POST ${location.origin}${nsPath(ns, "links")} \\\n  -H 'content-type: application/json' -d '{"name":"totals","source":"orders"}'`}
            >
              A link counts what a stream brings, or keeps a collection in step with it.
            </Empty>
          ) : (
            <TableFrame label="Links">
              <thead>
                <tr>
                  <th>Name</th>
                  <th>Source</th>
                  <th>Target</th>
                  <th>Status</th>
                </tr>
              </thead>
              <tbody>
                {data.map((link) => (
                  <tr key={link.name}>
                    <td>
                      <a href={href(["ns", ns, "links", link.name])}>{link.name}</a>
                    </td>
                    <td>
                      <a href={href(["ns", ns, "streams", link.source])}>{link.source}</a>
                    </td>
                    <td>
                      <span class="muted">{link.target.kind}</span> {link.target.name}
                    </td>
                    <td>
                      <LinkStatus status={link.status} />
                    </td>
                  </tr>
                ))}
              </tbody>
            </TableFrame>
          )}
        </Card>
      )}
      {creating ? <CreateLink ns={ns} onClose={() => setCreating(false)} /> : null}
    </>
  );
}

const optionHints: Readonly<Record<string, string>> = {
  counter: '{"by": {"json": "/customer"}, "amount": {"json": "/total"}}',
  collection: '{"id": {"json": "/id"}, "source": "", "vectors": {"v": "/embedding"}}',
};

function CreateLink({ ns, onClose }: { readonly ns: string; readonly onClose: () => void }) {
  const [name, setName] = useState("");
  const [source, setSource] = useState("");
  const [kind, setKind] = useState("counter");
  const [target, setTarget] = useState("");
  const [options, setOptions] = useState("");
  const known = useLoad(
    async (signal) => {
      const { streams } = await call<{ streams: StreamItem[] }>(nsPath(ns, "streams"), { signal });
      const { collections } = await call<{ collections: CollectionInfo[] }>(nsPath(ns, "collections"), { signal });
      return {
        streams: streams.slice(0, 500).map((each) => each.name),
        collections: collections.map((each) => each.name),
      };
    },
    [ns],
  );
  const create = async () => {
    const body = {
      name,
      source,
      target: { kind, ...(target === "" ? {} : { name: target }) },
      ...(options.trim() === "" ? {} : { options: JSON.parse(options) as unknown }),
    };
    await call(nsPath(ns, "links"), { body });
    toast(`Created ${name}`);
    navigate(["ns", ns, "links", name]);
  };
  return (
    <FormDialog title="Create link" submit="Create" onClose={onClose} onSubmit={create}>
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
      <TextField
        label="Source stream"
        value={source}
        onInput={setSource}
        required
        mono
        list={known.data?.streams ?? []}
      />
      <div class="fields">
        <SelectField
          label="Target"
          value={kind}
          onChange={setKind}
          options={[
            ["counter", "Counters"],
            ["collection", "Collection"],
          ]}
        />
        <TextField
          label="Target name"
          value={target}
          onInput={setTarget}
          mono
          required={kind === "collection"}
          placeholder={kind === "counter" ? "as the link" : ""}
          list={kind === "collection" ? (known.data?.collections ?? []) : []}
        />
      </div>
      <div class="field">
        <span class="label">Options</span>
        <Editor
          key={kind}
          language="json"
          label="Options"
          value={options}
          onChange={setOptions}
          hint={optionHints[kind] ?? "{}"}
        />
      </div>
    </FormDialog>
  );
}
