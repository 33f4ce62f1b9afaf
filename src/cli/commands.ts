import type { CommandSpec, OptionSpec } from "./spec.ts";

const partition: OptionSpec = { name: "partition", short: "p", value: "NUMBER", help: "one partition" };
const dataDir: OptionSpec = {
  name: "data-dir",
  value: "FOLDER",
  help: "the data directory (SERVICE_DATA_DIR; ./data)",
};
const liveUrl: OptionSpec = {
  name: "live-url",
  value: "URL",
  help: "the Live engine (SERVICE_LIVE_URL; the server's host on port 7710)",
};
const schemaHelp = "the schema: a file after @, - for standard input, or JSON in place";

/** Every command that is not the server or its keys. The order is that of the help. */
export const commands: readonly CommandSpec[] = [
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
    options: [{ name: "if-missing", help: "no failure when it is there already" }],
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
    summary: "Show what a namespace may store and how often it may be called; with options, replace it",
    options: [
      { name: "max-bytes", value: "NUMBER", help: "bytes of records, documents and live tables" },
      { name: "max-requests-per-second", value: "NUMBER", help: "requests and statements, over all edges" },
      { name: "none", help: "take all bounds away" },
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
      { name: "partitions", value: "NUMBER", help: "1 by default" },
      { name: "max-age", value: "DURATION", help: "keep records this long, for example 7d" },
      { name: "max-bytes", value: "BYTES", help: "keep this much of each partition" },
      { name: "if-missing", help: "no failure when it is there already" },
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
    summary: "Change how long records are kept; without options, for ever",
    options: [
      { name: "max-age", value: "DURATION", help: "keep records this long, for example 7d" },
      { name: "max-bytes", value: "BYTES", help: "keep this much of each partition" },
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
      { name: "format", value: "FORMAT", choices: ["lines", "json", "events", "whole"], help: "lines by default" },
      partition,
      { name: "key", short: "k", value: "TEXT", help: "the key of every record" },
      { name: "key-separator", value: "TEXT", help: "each line is a key, this, and a value" },
      { name: "header", value: "NAME=VALUE", multiple: true, help: "a header of every record" },
    ],
    load: async () => (await import("./commands/append.ts")).append,
  },
  {
    path: ["stream", "tail"],
    args: ["NAME"],
    summary: "Show the last records of a stream, and with -f those that come",
    options: [
      { name: "follow", short: "f", help: "go on until Ctrl-C; a lost connection is taken up again" },
      partition,
      { name: "lines", short: "l", value: "NUMBER", help: "records of each partition to begin with; 10 by default" },
      { name: "from", value: "WHERE", help: "start, end, an offset, or a time such as 2026-01-31T08:00:00Z" },
      { name: "values", help: "only the values, as they are" },
    ],
    load: async () => (await import("./commands/tail.ts")).tail,
  },
  {
    path: ["live", "deploy"],
    args: ["FOLDER"],
    summary: "Deploy a folder of live functions and its schema",
    options: [
      liveUrl,
      { name: "dry-run", help: "only tell what would change" },
      { name: "allow-drops", help: "drop tables that hold documents and are not in the schema" },
      { name: "expected-version", value: "NUMBER", help: "only when this is the deployed version" },
    ],
    load: async () => (await import("./commands/live.ts")).deploy,
  },
  {
    path: ["live", "dev"],
    args: ["FOLDER"],
    summary: "Deploy a folder of live functions at every change, with its types",
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
      { name: "source", value: "STREAM", help: "where records come from" },
      { name: "target", value: "KIND[:NAME]", help: "counter, or collection:NAME; a counter by default" },
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
    summary: "Create a collection; the same schema again is no failure",
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
      { name: "expect-version", value: "NUMBER", help: "refuse when the schema has another version" },
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
    summary: "List the aliases, or point one to a collection",
    options: [{ name: "remove", help: "take the alias away" }],
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
    summary: "Write a document: JSON in place, @FILE, or standard input",
    options: [
      { name: "vector", short: "v", value: "NAME:JSON", multiple: true, help: "a vector; or NAME:@FILE" },
      { name: "merge", help: "change only the fields and vectors that are given; null removes a field" },
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
    summary: "Import JSONL, CSV or Parquet into a collection or stream; can be killed and resumed",
    details: `Where it stands is kept in a checkpoint beside the file. The same command again goes on after the last batch that the server
acknowledged, writes nothing twice, and does nothing once all is imported. FILE may be - for standard input, which then
must be given again from its start.

Into a collection a row is a document: its id comes from --id (by default the column id or _id, else the row's number from
0), columns that have the name of a vector are vectors, everything else is the source. Rows of "export" come back as
they were. Into a stream a row's JSON is the record's value; JSONL goes in as the lines are.`,
    options: [
      { name: "collection", short: "c", value: "NAME", help: "the collection to fill" },
      { name: "stream", short: "s", value: "NAME", help: "the stream to append to" },
      { name: "format", value: "FORMAT", choices: ["jsonl", "csv", "parquet"], help: "by the file's name" },
      { name: "id", value: "COLUMN", help: "the column of a document's id; # is the row's number" },
      { name: "schema", value: "JSON", help: `creates the collection where it is missing; ${schemaHelp}` },
      { name: "key", value: "COLUMN", help: "the column of a record's key, which chooses its partition" },
      partition,
      { name: "batch", value: "NUMBER", help: "rows of one request; 1000 by default" },
      { name: "checkpoint", value: "FILE", help: "where to keep how far it came" },
      { name: "restart", help: "forget the checkpoint and begin anew" },
      { name: "assume", value: "WORD", choices: ["stored", "missing"], help: "see docs/cli.md; after a day's pause" },
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
      { name: "format", value: "FORMAT", choices: ["jsonl", "csv", "parquet"], help: "by the file's name, else jsonl" },
      { name: "filter", value: "JSON", help: "of a collection: which documents; or @FILE" },
      partition,
      { name: "from", value: "WHERE", help: "of a stream: start, an offset, or a time" },
    ],
    load: async () => (await import("./commands/export.ts")).exportRows,
  },
  {
    path: ["query"],
    args: ["[COLLECTION]"],
    summary: "Search a collection",
    details: `The query is a JSON body (--body, a file after @ or - for standard input), or made from the other options:
  native-engine query articles --text 'body:sea ice' --vector embedding:@vector.json --filter '{"term":{"topic":"climate"}}'`,
    options: [
      { name: "body", value: "JSON", help: "the whole query; or @FILE, or -" },
      { name: "text", short: "t", value: "FIELD:WORDS", multiple: true, help: "search a text field" },
      { name: "vector", short: "v", value: "FIELD:JSON", multiple: true, help: "search by a vector; or FIELD:@FILE" },
      { name: "filter", short: "f", value: "JSON", help: "which documents; or @FILE" },
      { name: "k", value: "NUMBER", help: "of each retriever" },
      { name: "limit", value: "NUMBER", help: "rows; 10 by default" },
      { name: "select", value: "FIELDS", help: "fields to show, with commas between" },
      { name: "highlight", value: "FIELDS", help: "fields to highlight, with commas between" },
      { name: "explain", help: "why each row ranks where it does" },
    ],
    load: async () => (await import("./commands/query.ts")).query,
  },
  {
    path: ["sql"],
    args: ["[PARAM…]"],
    summary: "Ask in SQL: interactive, or one statement with -c",
    details: `A statement ends with a semicolon and may have several lines. \\dt lists tables, \\d TABLE shows one, \\x turns rows on their side,
\\q ends. The history is kept in ~/.native-engine_history (SERVICE_HISTORY_FILE). PARAMs fill ? and $1 of -c.`,
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
    summary: "Check the set-up and, while no server runs on them, the data",
    options: [
      dataDir,
      { name: "listen", value: "ADDRESS", help: "the address that the server is to use (SERVICE_LISTEN)" },
      { name: "rebuild", help: "make indexes and datasets anew from the documents, and counters from the log" },
    ],
    load: async () => (await import("./commands/doctor.ts")).doctor,
  },
  {
    path: ["cluster", "init"],
    args: [],
    local: true,
    summary: "Make the topic in which a cluster keeps its log",
    options: [
      { name: "cluster-log", value: "URL", help: "kafka://host:port,host:port,host:port/prefix (SERVICE_CLUSTER_LOG)" },
      { name: "replicas", value: "NUMBER", help: "copies of the log; 3 by default" },
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
    summary: "Have another node become the owner",
    load: async () => (await import("./commands/cluster.ts")).moveOwner,
  },
  {
    path: ["cluster", "drain"],
    args: ["NODE"],
    summary: "Keep a node from being the owner; where it is, another one takes its place",
    options: [{ name: "undo", help: "let it become the owner again" }],
    load: async () => (await import("./commands/cluster.ts")).drainNode,
  },
  {
    path: ["backup"],
    args: ["FILE"],
    summary: "Back up a running server, or with --data-dir a stopped one, into one file",
    details: `The backup holds every write that was acknowledged before it began. It holds the instance's signing keys too: keep it as
secret as the data. FILE appears only when all of it was verified.`,
    options: [
      { ...dataDir, help: "back up this data directory, which no server may use" },
      { name: "verify", help: "only read FILE again and verify every checksum" },
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
    args: ["SHELL", "[KIND]"],
    summary: "Print the completion of bash, zsh or fish",
    details: `bash: source <(native-engine completion bash)
zsh:  source <(native-engine completion zsh)
fish: native-engine completion fish | source`,
    load: async () => (await import("./commands/completion.ts")).completion,
  },
];
