import { isText, type SearchState } from "../lib/search-state.ts";
import type { CollectionInfo } from "../lib/types.ts";
import { Editor } from "../ui/editor.tsx";
import { Button, Check, Field, SelectField, TextField } from "../ui/parts.tsx";

export interface SearchFormProps {
  readonly state: SearchState;
  readonly collections: readonly CollectionInfo[];
  readonly info: CollectionInfo | undefined;
  readonly change: (part: Partial<SearchState>) => void;
  readonly run: () => void;
  readonly busy: boolean;
}

export function SearchForm({ state, collections, info, change, run, busy }: SearchFormProps) {
  const names = collections.map(({ name }) => name);
  const known = names.includes(state.collection) ? names : [state.collection, ...names];
  const texts = (info?.schema.fields ?? []).filter(isText).map(({ name }) => name);
  const vectors = info?.schema.vectors ?? [];
  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault();
        run();
      }}
      onKeyDown={(event) => {
        if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
        event.preventDefault();
        run();
      }}
    >
      <SelectField
        label="Collection"
        value={state.collection}
        onChange={(collection) => change({ collection, like: "", vector: "", highlight: "" })}
        options={known.map((name) => [name, name])}
      />
      {texts.length === 0 ? null : <TextPart state={state} texts={texts} change={change} />}
      {vectors.length === 0 ? null : (
        <VectorPart
          state={state}
          names={vectors.map(({ name }) => name)}
          dim={vectors.find(({ name }) => name === state.vectorField)?.dim ?? 0}
          change={change}
        />
      )}
      <div class="field">
        <span class="label">Filter</span>
        <Editor
          language="json"
          label="Filter"
          value={state.filter}
          onChange={(filter) => change({ filter })}
          onRun={run}
          hint='{"term": {"kind": "fruit"}}'
        />
      </div>
      <FusionPart state={state} change={change} />
      <Button type="submit" kind="primary" icon="search" busy={busy}>
        Search
      </Button>
    </form>
  );
}

interface PartProps {
  readonly state: SearchState;
  readonly change: (part: Partial<SearchState>) => void;
}

function TextPart({ state, texts, change }: PartProps & { readonly texts: readonly string[] }) {
  const marked = state.highlight.split(",").filter((name) => name !== "");
  return (
    <fieldset>
      <legend>Text</legend>
      <TextField
        label="Words"
        hideLabel
        type="search"
        value={state.text}
        onInput={(text) => change({ text })}
        placeholder='Words, or "a phrase"'
      />
      <div class="fields">
        <SelectField
          label="In"
          value={state.textField}
          onChange={(textField) => change({ textField })}
          options={texts.map((name) => [name, name])}
        />
        <SelectField
          label="Words"
          value={state.operator}
          onChange={(operator) => change({ operator: operator === "and" ? "and" : "or" })}
          options={[
            ["or", "any"],
            ["and", "all"],
          ]}
        />
      </div>
      <div class="checks">
        <span class="label">Highlight</span>
        {texts.slice(0, 6).map((name) => (
          <Check
            key={name}
            label={name}
            checked={marked.includes(name)}
            onChange={(on) =>
              change({ highlight: (on ? [...marked, name] : marked.filter((each) => each !== name)).join(",") })
            }
          />
        ))}
      </div>
    </fieldset>
  );
}

function VectorPart({
  state,
  names,
  dim,
  change,
}: PartProps & { readonly names: readonly string[]; readonly dim: number }) {
  return (
    <fieldset>
      <legend>Vector</legend>
      <div class="fields">
        <TextField
          label="Like document"
          type="number"
          min={0}
          value={state.like}
          onInput={(like) => change({ like, vector: "" })}
          placeholder="id"
        />
        <SelectField
          label="By"
          value={state.vectorField}
          onChange={(vectorField) => change({ vectorField })}
          options={names.map((name) => [name, name])}
        />
      </div>
      <Field label={`Or ${dim} numbers`}>
        {(id) => (
          <textarea
            id={id}
            class="mono"
            rows={2}
            spellcheck={false}
            value={state.vector}
            placeholder="0.12, -0.4, …"
            onInput={(event) => change({ vector: event.currentTarget.value, like: "" })}
          />
        )}
      </Field>
    </fieldset>
  );
}

function FusionPart({ state, change }: PartProps) {
  return (
    <details class="more">
      <summary>Fusion and limits</summary>
      <div class="fields">
        <SelectField
          label="Fusion"
          value={state.fuse}
          onChange={(fuse) => change({ fuse: fuse === "weighted" ? "weighted" : "rrf" })}
          options={[
            ["rrf", "by rank (RRF)"],
            ["weighted", "by score"],
          ]}
        />
        <TextField
          label="RRF constant"
          type="number"
          min={1}
          value={state.fuseK}
          onInput={(fuseK) => change({ fuseK })}
        />
        <TextField
          label="Text weight"
          type="number"
          min={0}
          step="any"
          value={state.textWeight}
          onInput={(textWeight) => change({ textWeight })}
        />
        <TextField
          label="Vector weight"
          type="number"
          min={0}
          step="any"
          value={state.vectorWeight}
          onInput={(vectorWeight) => change({ vectorWeight })}
        />
        <TextField label="Candidates (k)" type="number" min={1} value={state.k} onInput={(k) => change({ k })} />
        <TextField label="Results" type="number" min={1} value={state.limit} onInput={(limit) => change({ limit })} />
      </div>
    </details>
  );
}
