import { EngineError } from "../errors.ts";
import type { Schema } from "../schema/schema.ts";
import { type ExtractedDocument, Extractor, type FieldValues } from "../search/document.ts";
import type { StoredDocument } from "./document-codec.ts";

/** Reads stored documents for the index. What does not fit a field that was added later is left out of it. */
export class StoredExtractor {
  readonly schema: Schema;
  readonly #extractor: Extractor;

  constructor(schema: Schema) {
    this.schema = schema;
    this.#extractor = new Extractor({ ...schema, dynamic: "ignore" });
  }

  /** `source` is what the document's text holds, where that was read before. */
  extract(stored: StoredDocument, source: unknown = JSON.parse(stored.source)): ExtractedDocument {
    return {
      values: this.#values(source),
      vectors: this.schema.vectors.map(({ name, dim }) => {
        const vector = stored.vectors.get(name);
        return vector?.length === dim ? vector : undefined;
      }),
      sparse: this.schema.sparseVectors.map(({ name }) => stored.sparse.get(name)),
    };
  }

  #values(source: unknown): readonly FieldValues[] {
    try {
      return this.#extractor.values(source);
    } catch (error) {
      if (!(error instanceof EngineError)) throw error;
      return this.schema.fields.map((field) => fieldAlone(this.schema, field, source));
    }
  }
}

function fieldAlone(schema: Schema, field: Schema["fields"][number], source: unknown): FieldValues {
  const only: Schema = { ...schema, fields: [field], vectors: [], sparseVectors: [], dynamic: "ignore" };
  try {
    return new Extractor(only).values(source)[0] ?? [];
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    return [];
  }
}
