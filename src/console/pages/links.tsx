import { useState } from "preact/hooks";
import { call, nsPath, postCommand } from "../lib/api.ts";
import { firstStreams, listCollections } from "../lib/pages.ts";
import { href } from "../lib/router.ts";
import type { LinkDetail, LinkItem } from "../lib/types.ts";
import { useLoad } from "../lib/use-load.ts";
import { Editor } from "../ui/editor.tsx";
import { SelectField, TextField } from "../ui/fields.tsx";
import { CreateDialog, ListPage } from "../ui/list-page.tsx";
import { Badge } from "../ui/parts.tsx";

/** Names beyond these are not offered while writing one. */
const namesOffered = 500;

/** A list does not tell how a link fares, so that there a running one is shown without a colour. */
export function LinkStatus({ status, error, skipped, applied }: LinkItem & Partial<LinkDetail>) {
  if (error !== undefined) return <Badge tone="bad">stopped</Badge>;
  if (status !== "running") return <Badge tone="warn">{status}</Badge>;
  if (applied === undefined) return <Badge>{status}</Badge>;
  const read = applied.reduce((sum, { offset }) => sum + offset, 0);
  if (skipped !== undefined && skipped > 0 && skipped >= read) return <Badge tone="bad">skips every record</Badge>;
  return <Badge tone={skipped === undefined || skipped === 0 ? "good" : "warn"}>{status}</Badge>;
}

export function LinksPage({ ns }: { readonly ns: string }) {
  const list = useLoad(
    async (signal) => (await call<{ links: readonly LinkItem[] }>(nsPath(ns, "links"), { signal })).links,
    [ns],
    5_000,
  );
  return (
    <ListPage
      title="Links"
      note="Pipes from a stream into counters or a collection, exactly once."
      what="link"
      list={list}
      nameOf={({ name }) => name}
      empty={{
        title: `No links in ${ns}`,
        text: "A link counts the records of a stream, or keeps a collection up to date with it.",
        command: postCommand(nsPath(ns, "links"), '{"name":"totals","source":"orders"}'),
      }}
      row={(link) => (
        <a class="list-row" href={href(["ns", ns, "links", link.name])}>
          <span class="grow">{link.name}</span>
          <span class="muted flow">
            {link.source} → {link.target.kind} {link.target.name}
          </span>
          <LinkStatus {...link} />
        </a>
      )}
      create={(onClose) => <CreateLink ns={ns} onClose={onClose} />}
    />
  );
}

const optionHints: Readonly<Record<string, string>> = {
  counter: '{"by": {"json": "/customer"}, "amount": {"json": "/total"}}',
  collection: '{"id": {"json": "/id"}, "source": "", "vectors": {"v": "/embedding"}}',
};

/** Names that a link's source and target may have. */
function useKnownNames(ns: string) {
  return useLoad(
    async (signal) => {
      const [streams, collections] = await Promise.all([
        firstStreams(ns, namesOffered, signal),
        listCollections(ns, signal),
      ]);
      return {
        streams: streams.map(({ name }) => name),
        collections: collections.slice(0, namesOffered).map(({ name }) => name),
      };
    },
    [ns],
  );
}

function CreateLink({ ns, onClose }: { readonly ns: string; readonly onClose: () => void }) {
  const [source, setSource] = useState("");
  const [kind, setKind] = useState("counter");
  const [target, setTarget] = useState("");
  const [options, setOptions] = useState("");
  const known = useKnownNames(ns);
  const create = async (name: string) => {
    const body = {
      name,
      source,
      target: { kind, ...(target === "" ? {} : { name: target }) },
      ...(options.trim() === "" ? {} : { options: JSON.parse(options) as unknown }),
    };
    await call(nsPath(ns, "links"), { body });
  };
  return (
    <CreateDialog what="link" onClose={onClose} onCreate={create} pathOf={(name) => ["ns", ns, "links", name]}>
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
    </CreateDialog>
  );
}
