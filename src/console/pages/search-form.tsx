import { fastFields, isText, type SearchState } from "../lib/search-state.ts";
import type { CollectionInfo } from "../lib/types.ts";
import { Editor } from "../ui/editor.tsx";
import { SelectField, TextField } from "../ui/fields.tsx";
import { Button } from "../ui/parts.tsx";
import { NameChecks, type PartProps, SparsePart, TextPart, VectorPart } from "./search-retrievers.tsx";

/** What another collection does not know. */
const ofOneCollection: Partial<SearchState> = {
  like: "",
  vector: "",
  sparseLike: "",
  sparse: "",
  highlight: "",
  facets: "",
  groupBy: "",
  sort: "",
};

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
  const sparse = (info?.schema.sparse_vectors ?? []).map(({ name }) => name);
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
        onChange={(collection) => change({ ...ofOneCollection, collection })}
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
      {sparse.length === 0 ? null : <SparsePart state={state} names={sparse} change={change} />}
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
      <ShapePart state={state} columns={fastFields(info?.schema)} change={change} />
      <FusionPart state={state} change={change} hasSparse={sparse.length > 0} />
      <Button type="submit" kind="primary" icon="search" busy={busy}>
        Search
      </Button>
    </form>
  );
}

function ShapePart({ state, columns, change }: PartProps & { readonly columns: readonly string[] }) {
  const named = columns.map((name) => [name, name] as const);
  return (
    <details class="more" open={state.facets !== "" || state.groupBy !== "" || state.sort !== ""}>
      <summary>Facets, groups and order</summary>
      {columns.length === 0 ? (
        <p class="hint">Facets and groups need a field with "fast": true in the schema.</p>
      ) : (
        <NameChecks label="Count by" names={columns} chosen={state.facets} onChange={(facets) => change({ facets })} />
      )}
      <div class="fields">
        {columns.length === 0 ? null : (
          <>
            <SelectField
              label="Group by"
              value={state.groupBy}
              onChange={(groupBy) => change({ groupBy })}
              options={[["", "none"], ...named]}
            />
            <TextField
              label="Of a group"
              type="number"
              min={1}
              value={state.groupSize}
              onInput={(groupSize) => change({ groupSize })}
            />
          </>
        )}
        <SelectField
          label="Sort by"
          value={state.sort}
          onChange={(sort) => change({ sort, order: sort === "_score" ? "desc" : state.order })}
          options={[["", "score"], ...named, ["_id", "_id"], ["_score", "_score"]]}
        />
        <SelectField
          label="Order"
          value={state.order}
          onChange={(order) => change({ order: order === "desc" ? "desc" : "asc" })}
          options={[
            ["asc", "ascending"],
            ["desc", "descending"],
          ]}
        />
      </div>
    </details>
  );
}

/** Weights may be fractions; the others are whole and at least 1. */
const numbers = [
  { label: "RRF constant", key: "fuseK", min: 1 },
  { label: "Text weight", key: "textWeight", min: 0 },
  { label: "Vector weight", key: "vectorWeight", min: 0 },
  { label: "Sparse weight", key: "sparseWeight", min: 0 },
  { label: "Candidates (k)", key: "k", min: 1 },
  { label: "Results", key: "limit", min: 1 },
] as const;

function FusionPart({ state, change, hasSparse }: PartProps & { readonly hasSparse: boolean }) {
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
        {numbers
          .filter(({ key }) => hasSparse || key !== "sparseWeight")
          .map(({ label, key, min }) => (
            <TextField
              key={key}
              label={label}
              type="number"
              min={min}
              {...(min === 0 ? { step: "any" } : {})}
              value={state[key]}
              onInput={(value) => change({ [key]: value })}
            />
          ))}
      </div>
    </details>
  );
}
