import type { DescFile, DescMessage } from "@bufbuild/protobuf";
import { file_service_collection_v1_collection } from "../../gen/service/collection/v1/collection_pb.ts";
import { file_service_collection_v1_document } from "../../gen/service/collection/v1/document_pb.ts";
import { file_service_collection_v1_filter } from "../../gen/service/collection/v1/filter_pb.ts";
import { file_service_collection_v1_query } from "../../gen/service/collection/v1/query_pb.ts";
import { file_service_collection_v1_schema } from "../../gen/service/collection/v1/schema_pb.ts";

const files: readonly DescFile[] = [
  file_service_collection_v1_collection,
  file_service_collection_v1_document,
  file_service_collection_v1_filter,
  file_service_collection_v1_query,
  file_service_collection_v1_schema,
];

/** The names of the fields that hold a message of each type. */
const holders = new Map<string, Set<string>>();
for (const { fields } of files.flatMap(({ messages }) => messages)) {
  for (const field of fields) {
    const held: DescMessage | undefined = field.message;
    if (held === undefined) continue;
    holders.set(held.typeName, (holders.get(held.typeName) ?? new Set()).add(field.name));
  }
}

/** The one field that holds messages of a type, or of several the one that is called as the type is. */
export function fieldHolding(typeName: string): string | undefined {
  const names = holders.get(typeName) ?? new Set<string>();
  const [only, ...more] = names;
  if (more.length === 0) return only;
  const own = typeName.slice(typeName.lastIndexOf(".") + 1).toLowerCase();
  return names.has(own) ? own : undefined;
}
