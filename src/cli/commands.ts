import { instanceCommands } from "./instance-commands.ts";
import { type CommandSpec, dataDir, type OptionSpec } from "./spec.ts";

const partition: OptionSpec = { name: "partition", short: "p", value: "NUMBER", help: "one partition" };
const liveUrl: OptionSpec = {
  name: "live-url",
  value: "URL",
  help: "the Live engine (SERVICE_LIVE_URL; the server's host on port 7710)",
};
const schemaHelp = "the schema as JSON; or @FILE, or - for standard input";

/** Every command but the server. The order is that of the help. */
export const commands: readonly CommandSpec[] = [
  ...instanceCommands,
  {
    path: ["ns", "list"],
    args: [],
    summary: "List the namespaces",
    load: async () => (await import("./commands/ns.ts")).listNamespaces,
  },
  {
    path: ["ns", "create"],
    args: ["NAME"],
    summary: "Create a namespace",
    options: [{ name: "if-missing", help: "do nothing if it already exists" }],
    load: async () => (await import("./commands/ns.ts")).createNamespace,
  },
  {
    path: ["ns", "get"],
    args: ["NAME"],
    summary: "Show a namespace",
    load: async () => (await import("./commands/ns.ts")).getNamespace,
  },
  {
    path: ["ns", "quota"],
    args: ["NAME"],
    summary: "Show a namespace's quota and usage; with options, set the quota",
    options: [
      { name: "max-bytes", value: "NUMBER", help: "limit on the bytes of records, documents and live tables" },
      {
        name: "max-requests-per-second",
        value: "NUMBER",
        help: "limit on requests and statements, over all protocols",
      },
      { name: "none", help: "remove all limits" },
    ],
    load: async () => (await import("./commands/ns.ts")).namespaceQuota,
  },
  {
    path: ["ns", "delete"],
    args: ["NAME"],
    summary: "Delete an empty namespace",
    load: async () => (await import("./commands/ns.ts")).deleteNamespace,
  },
  {
    path: ["stream", "list"],
    args: [],
    summary: "List the streams",
    load: async () => (await import("./commands/stream.ts")).listStreams,
  },
  {
    path: ["stream", "create"],
    args: ["NAME"],
    summary: "Create a stream",
    options: [
      { name: "partitions", value: "NUMBER", help: "default 1" },
      { name: "max-age", value: "DURATION", help: "keep records this long, for example 7d" },
      { name: "max-bytes", value: "BYTES", help: "keep at most this much per partition" },
      { name: "if-missing", help: "do nothing if it already exists" },
    ],
    load: async () => (await import("./commands/stream.ts")).createStream,
  },
  {
    path: ["stream", "get"],
    args: ["NAME"],
    summary: "Show a stream and its partitions",
    load: async () => (await import("./commands/stream.ts")).getStream,
  },
  {
    path: ["stream", "delete"],
    args: ["NAME"],
    summary: "Delete a stream and its records",
    load: async () => (await import("./commands/stream.ts")).deleteStream,
  },
  {
    path: ["stream", "retention"],
    args: ["NAME"],
    summary: "Set how long records are kept; without options, forever",
    options: [
      { name: "max-age", value: "DURATION", help: "keep records this long, for example 7d" },
      { name: "max-bytes", value: "BYTES", help: "keep at most this much per partition" },
    ],
    load: async () => (await import("./commands/stream.ts")).setRetention,
  },
  {
    path: ["stream", "append"],
    args: ["NAME", "[FILE]"],
    summary: "Append records from a file or standard input",
    details: `lines: each line is a record's value. json: each line is {key, value, headers, timestamp_ms} as the API takes it, but key, value
and the headers' values as text; headers may also be an object. events: each line is a CloudEvent. whole: all of it is one record's value.`,
    options: [
      { name: "format", value: "FORMAT", choices: ["lines", "json", "events", "whole"], help: "default lines" },
      partition,
      { name: "key", short: "k", value: "TEXT", help: "the key of every record" },
      { name: "key-separator", value: "TEXT", help: "each line is KEY, this text, VALUE" },
      { name: "header", value: "NAME=VALUE", multiple: true, help: "a header of every record" },
    ],
    load: async () => (await import("./commands/append.ts")).append,
  },
  {
    path: ["stream", "tail"],
    args: ["NAME"],
    summary: "Show the last records of a stream; with -f, follow it",
    options: [
      { name: "follow", short: "f", help: "follow until Ctrl-C; reconnects by itself" },
      partition,
      { name: "lines", short: "l", value: "NUMBER", help: "records per partition to start with; default 10" },
      { name: "from", value: "WHERE", help: "start, end, an offset, or a time such as 2026-01-31T08:00:00Z" },
      { name: "values", help: "print only the values, unchanged" },
    ],
    load: async () => (await import("./commands/tail.ts")).tail,
  },
  {
    path: ["live", "deploy"],
    args: ["FOLDER"],
    summary: "Deploy a folder of live functions and its schema",
    options: [
      liveUrl,
      { name: "dry-run", help: "only show what would change" },
      { name: "allow-drops", help: "drop tables that are not in the schema even if they hold documents" },
      { name: "expected-version", value: "NUMBER", help: "fail unless this is the deployed version" },
    ],
    load: async () => (await import("./commands/live.ts")).deploy,
  },
  {
    path: ["live", "dev"],
    args: ["FOLDER"],
    summary: "Deploy a folder of live functions after every change, and generate its types",
    options: [liveUrl],
    load: async () => (await import("./commands/live.ts")).dev,
  },
  {
    path: ["live", "run"],
    args: ["FUNCTION", "[ARGS]"],
    summary: "Run a live function; ARGS is a JSON object",
    options: [liveUrl],
    load: async () => (await import("./commands/live.ts")).run,
  },
  {
    path: ["link", "list"],
    args: [],
    summary: "List the links",
    load: async () => (await import("./commands/link.ts")).listLinks,
  },
  {
    path: ["link", "create"],
    args: ["NAME"],
    summary: "Pipe a stream into a target",
    options: [
      { name: "source", value: "STREAM", help: "the stream to read" },
      { name: "target", value: "KIND[:NAME]", help: "counter, or collection:NAME; default counter" },
      { name: "options", value: "JSON", help: "options of the target; or @FILE" },
    ],
    load: async () => (await import("./commands/link.ts")).createLink,
  },
  {
    path: ["link", "get"],
    args: ["NAME"],
    summary: "Show a link, its lag and its counters",
    load: async () => (await import("./commands/link.ts")).getLink,
  },
  {
    path: ["link", "delete"],
    args: ["NAME"],
    summary: "Delete a link",
    load: async () => (await import("./commands/link.ts")).deleteLink,
  },
  {
    path: ["collection", "list"],
    args: [],
    summary: "List the collections",
    load: async () => (await import("./commands/collection.ts")).listCollections,
  },
  {
    path: ["collection", "create"],
    args: ["NAME"],
    summary: "Create a collection; repeating it with the same schema does nothing",
    options: [{ name: "schema", value: "JSON", help: schemaHelp }],
    load: async () => (await import("./commands/collection.ts")).createCollection,
  },
  {
    path: ["collection", "get"],
    args: ["NAME"],
    summary: "Show a collection and its schema",
    load: async () => (await import("./commands/collection.ts")).getCollection,
  },
  {
    path: ["collection", "drop"],
    args: ["NAME"],
    summary: "Drop a collection with its documents",
    load: async () => (await import("./commands/collection.ts")).dropCollection,
  },
  {
    path: ["collection", "fields"],
    args: ["NAME"],
    summary: "Show the fields of a collection, or add some",
    options: [
      { name: "add", value: "JSON", help: "an array of fields to add; or @FILE" },
      { name: "expect-version", value: "NUMBER", help: "fail unless the schema has this version" },
    ],
    load: async () => (await import("./commands/collection.ts")).fields,
  },
  {
    path: ["collection", "versions"],
    args: ["NAME"],
    summary: "List the retained versions of a collection's index",
    load: async () => (await import("./commands/collection.ts")).versions,
  },
  {
    path: ["collection", "alias"],
    args: ["[ALIAS]", "[COLLECTION]"],
    summary: "List the aliases, or point one at a collection",
    options: [{ name: "remove", help: "remove the alias" }],
    load: async () => (await import("./commands/collection.ts")).alias,
  },
  {
    path: ["document", "get"],
    args: ["COLLECTION", "ID"],
    summary: "Show a document",
    load: async () => (await import("./commands/document.ts")).getDocument,
  },
  {
    path: ["document", "put"],
    args: ["COLLECTION", "ID", "[JSON]"],
    summary: "Write a document: JSON, @FILE, or standard input",
    options: [
      { name: "vector", short: "v", value: "NAME:JSON", multiple: true, help: "a vector; or NAME:@FILE" },
      { name: "merge", help: "change only the given fields and vectors; null removes a field" },
    ],
    load: async () => (await import("./commands/document.ts")).putDocument,
  },
  {
    path: ["document", "edit"],
    args: ["COLLECTION", "ID"],
    summary: "Change a document in your editor (VISUAL, EDITOR)",
    load: async () => (await import("./commands/document.ts")).editDocument,
  },
  {
    path: ["document", "count"],
    args: ["COLLECTION"],
    summary: "Count documents",
    options: [{ name: "filter", value: "JSON", help: "which ones; or @FILE" }],
    load: async () => (await import("./commands/document.ts")).countDocuments,
  },
  {
    path: ["document", "delete"],
    args: ["COLLECTION", "[ID…]"],
    summary: "Delete documents by id or filter",
    options: [{ name: "filter", value: "JSON", help: "which ones; or @FILE" }],
    load: async () => (await import("./commands/document.ts")).deleteDocuments,
  },
  {
    path: ["import"],
    args: ["FILE"],
    summary: "Import JSONL, CSV or Parquet into a collection or stream; resumable",
    details: `A checkpoint beside the file records the progress. Run the same command again to resume after the last batch that the server
acknowledged: nothing is written twice, and once everything is imported it does nothing. FILE may be - for standard input; to
resume, send the same input again from its start.

Into a collection a row is a document: its id comes from --id (by default the column id or _id, else the row's number from
0), columns with the name of a vector are vectors, and everything else is the source. Rows written by "export" are restored
unchanged. Into a stream, a row's JSON is the record's value; lines of JSONL are kept unchanged.`,
    options: [
      { name: "collection", short: "c", value: "NAME", help: "the collection to fill" },
      { name: "stream", short: "s", value: "NAME", help: "the stream to append to" },
      {
        name: "format",
        value: "FORMAT",
        choices: ["jsonl", "csv", "parquet"],
        help: "default: by the file's extension",
      },
      { name: "id", value: "COLUMN", help: "the column with the document's id; # for the row's number" },
      { name: "schema", value: "JSON", help: `create the collection if it is missing; ${schemaHelp}` },
      { name: "key", value: "COLUMN", help: "the column with the record's key, which decides its partition" },
      partition,
      { name: "batch", value: "NUMBER", help: "rows per request; default 1000" },
      { name: "checkpoint", value: "FILE", help: "where to keep the progress" },
      { name: "restart", help: "discard the checkpoint and start over" },
      {
        name: "assume",
        value: "WORD",
        choices: ["stored", "missing"],
        help: "what to assume of the batch in doubt after a day's pause; see docs/cli.md",
      },
    ],
    load: async () => (await import("./commands/import.ts")).importRows,
  },
  {
    path: ["export"],
    args: ["[FILE]"],
    summary: "Export a collection or stream as JSONL, CSV or Parquet",
    options: [
      { name: "collection", short: "c", value: "NAME", help: "the collection" },
      { name: "stream", short: "s", value: "NAME", help: "the stream" },
      {
        name: "format",
        value: "FORMAT",
        choices: ["jsonl", "csv", "parquet"],
        help: "default: by the file's extension, else jsonl",
      },
      { name: "filter", value: "JSON", help: "which documents of a collection; or @FILE" },
      partition,
      { name: "from", value: "WHERE", help: "where a stream begins: start, an offset, or a time" },
    ],
    load: async () => (await import("./commands/export.ts")).exportRows,
  },
  {
    path: ["query"],
    args: ["[COLLECTION]"],
    summary: "Search a collection",
    details: `Give the whole query as JSON with --body, or build it from the other options:
  native-engine query articles --text 'body:sea ice' --vector embedding:@vector.json --filter '{"term":{"topic":"climate"}}'`,
    options: [
      { name: "body", value: "JSON", help: "the whole query; or @FILE, or -" },
      { name: "text", short: "t", value: "FIELD:WORDS", multiple: true, help: "search a text field" },
      { name: "vector", short: "v", value: "FIELD:JSON", multiple: true, help: "search by a vector; or FIELD:@FILE" },
      { name: "filter", short: "f", value: "JSON", help: "which documents; or @FILE" },
      { name: "k", value: "NUMBER", help: "candidates per retriever" },
      { name: "limit", value: "NUMBER", help: "rows; default 10" },
      { name: "select", value: "FIELDS", help: "fields to show, separated by commas" },
      { name: "highlight", value: "FIELDS", help: "fields to highlight, separated by commas" },
      { name: "explain", help: "show why each row ranks where it does" },
    ],
    load: async () => (await import("./commands/query.ts")).query,
  },
  {
    path: ["sql"],
    args: ["[PARAM…]"],
    summary: "Run SQL: interactive, or one statement with -c",
    details: `A statement ends with a semicolon and may span several lines. \\dt lists tables, \\d TABLE describes one, \\x prints rows vertically,
\\q quits. The history is kept in ~/.native-engine_history (SERVICE_HISTORY_FILE). Each PARAM fills a ? or $1 of the statement.`,
    options: [
      { name: "command", short: "c", value: "SQL", help: "one statement; - reads it from standard input" },
      { name: "csv", help: "rows as CSV" },
    ],
    load: async () => (await import("./commands/sql.ts")).sql,
  },
  {
    path: ["doctor"],
    args: [],
    local: true,
    summary: "Check the setup and, while no server uses it, the data",
    options: [
      dataDir,
      { name: "listen", value: "ADDRESS", help: "the address that the server will use (SERVICE_LISTEN)" },
      { name: "rebuild", help: "rebuild indexes and datasets from the documents, and counters from the log" },
    ],
    load: async () => (await import("./commands/doctor.ts")).doctor,
  },
  {
    path: ["cluster", "init"],
    args: [],
    local: true,
    summary: "Create the topic that holds a cluster's log",
    options: [
      { name: "cluster-log", value: "URL", help: "kafka://host:port,host:port,host:port/prefix (SERVICE_CLUSTER_LOG)" },
      { name: "replicas", value: "NUMBER", help: "replicas of the log; default 3" },
      { name: "flush", help: "brokers sync every message before they acknowledge it (flush.messages=1)" },
    ],
    load: async () => (await import("./commands/cluster.ts")).initCluster,
  },
  {
    path: ["cluster", "status"],
    args: [],
    summary: "Show the nodes of a cluster, its owner and how far each node is behind",
    load: async () => (await import("./commands/cluster.ts")).clusterStatus,
  },
  {
    path: ["cluster", "move"],
    args: ["[NODE]"],
    summary: "Make another node the owner",
    load: async () => (await import("./commands/cluster.ts")).moveOwner,
  },
  {
    path: ["cluster", "drain"],
    args: ["NODE"],
    summary: "Keep a node from being the owner; if it is, another one takes over",
    options: [{ name: "undo", help: "allow it to be the owner again" }],
    load: async () => (await import("./commands/cluster.ts")).drainNode,
  },
  {
    path: ["backup"],
    args: ["FILE"],
    summary: "Back up a running server, or with --data-dir a stopped one, into one file",
    details: `The backup contains every write that was acknowledged before it began, and the instance's signing keys: keep it as
secret as the data. FILE appears only once it is complete and verified.`,
    options: [
      { ...dataDir, help: "back up this data directory, which no server may use" },
      { name: "verify", help: "only verify every checksum of an existing FILE" },
    ],
    load: async () => (await import("./commands/backup.ts")).backup,
  },
  {
    path: ["restore"],
    args: ["FILE"],
    local: true,
    summary: "Restore a backup into an empty data directory",
    options: [dataDir],
    load: async () => (await import("./commands/restore.ts")).restore,
  },
  {
    path: ["completion"],
    args: ["SHELL"],
    summary: "Print the completion script for bash, zsh or fish",
    details: `bash: source <(native-engine completion bash)
zsh:  source <(native-engine completion zsh)
fish: native-engine completion fish | source`,
    load: async () => (await import("./commands/completion.ts")).completion,
  },
  {
    path: ["completion", "words"],
    args: ["[WORD…]"],
    hidden: true,
    summary: "Complete the last word of a command line, for the scripts of the shells",
    load: async () => (await import("./commands/completion.ts")).completeWords,
  },
];
