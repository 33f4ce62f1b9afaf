import { defaultLiveSettings, type LiveSettings } from "../../engine/live/settings.ts";
import { parseDuration, wholeNumber } from "./values.ts";

interface LiveSetting {
  readonly flag: string;
  readonly env: string;
  readonly value: string;
  readonly help: string;
  readonly fallback: number;
  readonly parse: (text: string, field: string) => number;
}

type Names = { readonly [K in keyof LiveSettings as `live${Capitalize<K>}`]: LiveSetting };

const gibibyte = 2 ** 30;

/** The flag gives the variable its name. */
function named(flag: string, value: string, help: string, fallback: number, parse: LiveSetting["parse"]): LiveSetting {
  return { flag, env: `SERVICE_${flag.toUpperCase().replaceAll("-", "_")}`, value, help, fallback, parse };
}

function duration(flag: string, help: string, fallback: number): LiveSetting {
  return named(flag, "DURATION", help, fallback, parseDuration);
}

function count(flag: string, help: string, fallback: number, max: number): LiveSetting {
  return named(flag, "NUMBER", help, fallback, wholeNumber(1, max));
}

function bytes(flag: string, help: string, fallback: number): LiveSetting {
  return named(flag, "BYTES", help, fallback, wholeNumber(1, gibibyte));
}

const fallback = defaultLiveSettings;

/** Every bound of the Live engine as a setting. */
export const liveSettingsTable: Names = {
  liveHistoryMs: duration("live-history", "how long history is kept for queries with `at`", fallback.historyMs),
  liveHeartbeatMs: duration(
    "live-heartbeat",
    "time after which an idle session gets a heartbeat",
    fallback.heartbeatMs,
  ),
  liveSessionsMax: count("live-sessions-max", "open sessions of Watch", fallback.sessionsMax, 1_000_000),
  liveSessionQueriesMax: count(
    "live-session-queries-max",
    "queries of one session",
    fallback.sessionQueriesMax,
    100_000,
  ),
  liveRunCpuMs: duration("live-run-time", "processor time of one run of a function", fallback.runCpuMs),
  liveRunHeapBytes: bytes("live-run-heap-bytes", "heap of one run of a function", fallback.runHeapBytes),
  liveReadBytesMax: bytes("live-read-bytes-max", "bytes that one run reads", fallback.readBytesMax),
  liveWrittenBytesMax: bytes("live-written-bytes-max", "bytes that one run writes", fallback.writtenBytesMax),
  liveDocumentsReadMax: count(
    "live-documents-read-max",
    "documents that one run reads",
    fallback.documentsReadMax,
    1e6,
  ),
  liveDocumentsWrittenMax: count(
    "live-documents-written-max",
    "documents that one run writes",
    fallback.documentsWrittenMax,
    1e6,
  ),
  liveRangesMax: count("live-ranges-max", "ranges that one run reads", fallback.rangesMax, 1e6),
  liveDocumentBytesMax: bytes("live-document-bytes-max", "bytes of one live document", fallback.documentBytesMax),
  liveIndexesMax: count("live-indexes-max", "indexes of one live table", fallback.indexesMax, 1_000),
  liveIndexFieldsMax: count(
    "live-index-fields-max",
    "fields of one index of a live table",
    fallback.indexFieldsMax,
    100,
  ),
  liveRunners: count("live-runners", "processes that run functions", fallback.runners, 64),
};

type LiveConfig = { readonly [K in keyof Names]: number };

export function liveSettingsOf(config: LiveConfig): LiveSettings {
  return {
    historyMs: config.liveHistoryMs,
    heartbeatMs: config.liveHeartbeatMs,
    sessionsMax: config.liveSessionsMax,
    sessionQueriesMax: config.liveSessionQueriesMax,
    runCpuMs: config.liveRunCpuMs,
    runHeapBytes: config.liveRunHeapBytes,
    readBytesMax: config.liveReadBytesMax,
    writtenBytesMax: config.liveWrittenBytesMax,
    documentsReadMax: config.liveDocumentsReadMax,
    documentsWrittenMax: config.liveDocumentsWrittenMax,
    rangesMax: config.liveRangesMax,
    documentBytesMax: config.liveDocumentBytesMax,
    indexesMax: config.liveIndexesMax,
    indexFieldsMax: config.liveIndexFieldsMax,
    runners: config.liveRunners,
  };
}
