import assert from "node:assert/strict";
import { test } from "node:test";
import { pino } from "pino";
import { LogForPeople } from "./log-for-people.ts";

test("a person reads the time, what happened and where to look, and no JSON", () => {
  const written: string[] = [];
  const log = pino({ base: null }, new LogForPeople({ write: (text) => written.push(text) }));
  log.info({ url: "http://127.0.0.1:8080", mode: "development" }, "listening on http://127.0.0.1:8080");
  log.warn("a port is taken");
  log.error({ err: new Error("broken") }, "a step failed");
  log.fatal({ err: new Error("taken") }, "could not start: taken");
  const text = written.join("");
  assert.match(text, /^\d\d:\d\d:\d\d listening on http:\/\/127\.0\.0\.1:8080\n/);
  assert.match(text, /the console is at http:\/\/127\.0\.0\.1:8080\//);
  assert.match(text, /warning: a port is taken\n/);
  assert.match(text, /error: a step failed\nError: broken\n {4}at /);
  assert.match(text, /error: could not start: taken\n$/);
});
