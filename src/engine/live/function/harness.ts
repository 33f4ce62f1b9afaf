/**
 * Stands between a bundle and the server, inside the sandbox. Its text is put before the bundle's, so it is one function that uses nothing
 * outside its body. It removes what would make two runs of a function differ, freezes the intrinsics, and talks in JSON: `step` begins a run
 * or brings answers, `output` returns what the run asks for, or its end.
 */
function installHarness(): void {
  // biome-ignore lint/suspicious/noExplicitAny: everything in here is of strangers.
  type Json = any;
  const scope = globalThis as Json;
  const { parse, stringify } = JSON;
  const { assign, create, defineProperty, entries, freeze, getOwnPropertyDescriptor, getPrototypeOf, keys } = Object;
  const { ownKeys } = Reflect;
  const BigIntOf = BigInt;
  const Bytes = Uint8Array;
  const RealDate = Date;
  const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const state: { run: Json; seed: number; nowMs: number } = { run: undefined, seed: 1, nowMs: 0 };
  const logsMax = 100;
  const logLengthMax = 1_000;
  const messageLengthMax = 10_000;
  const pageSize = 128;
  /** Made ahead: when it is needed there is no room for it. */
  const outOfMemory = '{"error":{"name":"InternalError","message":"out of memory"}}';
  const noValue = '{"error":{"message":"waits for something that never comes"}}';

  function encodeBase64(bytes: Uint8Array): string {
    let text = "";
    for (let i = 0; i < bytes.length; i += 3) {
      const left = bytes.length - i;
      const bits = (bytes[i]! << 16) | ((bytes[i + 1] ?? 0) << 8) | (bytes[i + 2] ?? 0);
      text += letters[bits >> 18]! + letters[(bits >> 12) & 63]!;
      text += (left > 1 ? letters[(bits >> 6) & 63]! : "=") + (left > 2 ? letters[bits & 63]! : "=");
    }
    return text;
  }

  function decodeBase64(text: string): Uint8Array {
    const plain = text.replace(/=+$/, "");
    const bytes = new Bytes(Math.floor((plain.length * 3) / 4));
    let bits = 0;
    let count = 0;
    let at = 0;
    for (const letter of plain) {
      bits = ((bits << 6) | letters.indexOf(letter)) & 0xffffff;
      count += 6;
      if (count < 8) continue;
      count -= 8;
      bytes[at++] = (bits >> count) & 255;
    }
    return bytes;
  }

  /** Whether JSON says the value as it is. Throws where any part of it is none. */
  function isPlain(value: Json): boolean {
    if (typeof value === "string" || typeof value === "boolean") return true;
    if (value === null || value === undefined) return true;
    if (typeof value === "number") {
      // JSON would make null of it.
      if (value - value !== 0) throw new TypeError(`${value} is no value: a number must be finite`);
      return true;
    }
    if (typeof value === "bigint" || value instanceof Bytes) return false;
    if (typeof value !== "object") throw new TypeError(`a ${typeof value} is no value`);
    const isList = Array.isArray(value);
    const prototype = getPrototypeOf(value);
    if (!isList && prototype !== Object.prototype && prototype !== null)
      throw new TypeError("only plain objects are values");
    let isSame = !("toJSON" in value);
    if (isList) for (let i = 0; i < value.length; i++) isSame = isPlain(value[i]) && isSame;
    else for (const name of keys(value)) isSame = isPlain(value[name]) && isSame;
    return isSame;
  }

  /** A value of a function as JSON says it. */
  function encode(value: Json): Json {
    return isPlain(value) ? (value ?? null) : copied(value);
  }

  function copied(value: Json): Json {
    if (typeof value === "bigint") return { $int64: String(value) };
    if (typeof value !== "object" || value === null) return value ?? null;
    if (value instanceof Bytes) return { $bytes: encodeBase64(value) };
    if (Array.isArray(value)) {
      const items: Json[] = [];
      for (let i = 0; i < value.length; i++) items.push(copied(value[i]));
      return items;
    }
    const result = create(null);
    for (const [name, item] of entries(value)) if (item !== undefined) result[name] = copied(item);
    return result;
  }

  function textOf(value: Json): string {
    return stringify(encode(value)) ?? "null";
  }

  /** What was parsed just now, with the values that JSON has not; in its place. */
  function decode(value: Json): Json {
    if (typeof value !== "object" || value === null) return value;
    if (Array.isArray(value)) {
      for (let i = 0; i < value.length; i++) value[i] = decode(value[i]);
      return value;
    }
    if (typeof value.$int64 === "string") return BigIntOf(value.$int64);
    if (typeof value.$bytes === "string") return decodeBase64(value.$bytes);
    for (const name of keys(value)) {
      const item = value[name];
      if (typeof item === "object" && item !== null) value[name] = decode(item);
    }
    return value;
  }

  /** An operation as text: nothing of the bundle's runs when the step's output is made. */
  function ask(op: string | undefined, isWrite = false): Promise<Json> {
    const { run } = state;
    if (run === undefined || run.end !== undefined) return Promise.reject(new Error("the run is over"));
    return new Promise((resolve, reject) => {
      run.waiting.push({ resolve, reject, isWrite });
      run.ops.push(op ?? "null");
    });
  }

  /** A read may be awaited after it has failed, or never. */
  function quiet(read: Promise<Json>): Promise<Json> {
    read.catch(() => {});
    return read;
  }

  function tableQuery(spec: Json): Json {
    const scan = (more: Json) => ask(stringify(assign({}, spec.range, more, { op: "scan" })));
    /** Pages until enough documents pass the filter. */
    const gather = async (count: number): Promise<Json[]> => {
      const found: Json[] = [];
      let cursor: string | undefined;
      do {
        const limit = spec.keep === undefined ? Math.min(count - found.length, 32_000) : pageSize;
        const page = await scan({ limit, cursor });
        for (const document of decode(page.documents)) {
          if (spec.keep === undefined || spec.keep(document)) found.push(document);
          if (found.length >= count) return found;
        }
        cursor = page.cursor ?? undefined;
      } while (cursor !== undefined);
      return found;
    };
    const first = async () => (await gather(1))[0] ?? null;
    const unique = async () => {
      const [one, two] = await gather(2);
      if (two !== undefined) throw new Error("unique() has found more than one document");
      return one ?? null;
    };
    const count = async () => {
      if (spec.keep !== undefined) return (await gather(Infinity)).length;
      return await ask(stringify(assign({}, spec.range, { op: "count" })));
    };
    const paginate = async ({ cursor, limit }: Json) => {
      const { documents, cursor: next } = await scan({ limit, cursor: cursor ?? undefined });
      const page = decode(documents).filter(spec.keep ?? (() => true));
      return { page, cursor: next ?? null, isDone: next === null || next === undefined };
    };
    const bounds = (range: Json): Json => ({
      eq: (field: string, value: Json) => bounds({ ...range, equal: [...range.equal, [field, encode(value)]] }),
      gt: (field: string, value: Json) =>
        bounds({ ...range, lower: { field, value: encode(value), inclusive: false } }),
      gte: (field: string, value: Json) =>
        bounds({ ...range, lower: { field, value: encode(value), inclusive: true } }),
      lt: (field: string, value: Json) =>
        bounds({ ...range, upper: { field, value: encode(value), inclusive: false } }),
      lte: (field: string, value: Json) =>
        bounds({ ...range, upper: { field, value: encode(value), inclusive: true } }),
      range,
    });
    return freeze({
      withIndex: (index: string, build: Json = (each: Json) => each) => {
        const { range } = build(bounds({ equal: [] }));
        return tableQuery({ ...spec, range: { ...spec.range, index, ...range } });
      },
      filter: (keep: Json) => {
        const before = spec.keep;
        return tableQuery({ ...spec, keep: before === undefined ? keep : (each: Json) => before(each) && keep(each) });
      },
      order: (order: string) => tableQuery({ ...spec, range: { ...spec.range, order } }),
      take: (count: number) => quiet(gather(count)),
      collect: () => quiet(gather(Infinity)),
      first: () => quiet(first()),
      unique: () => quiet(unique()),
      count: () => quiet(count()),
      paginate: (page: Json) => quiet(paginate(page)),
    });
  }

  const get = async (id: Json) => decode(await ask(`{"op":"get","id":${textOf(id)}}`));
  const reader = {
    get: (id: Json) => quiet(get(id)),
    query: (table: string) => tableQuery({ range: { table } }),
  };
  const writer = {
    ...reader,
    insert: async (table: string, document: Json) =>
      await ask(`{"op":"insert","table":${textOf(table)},"document":${textOf(document)}}`, true),
    patch: async (id: Json, patch: Json) => {
      const unset = keys(patch).filter((name) => patch[name] === undefined);
      await ask(`{"op":"patch","id":${textOf(id)},"patch":${textOf(patch)},"unset":${stringify(unset)}}`, true);
    },
    replace: async (id: Json, document: Json) => {
      await ask(`{"op":"replace","id":${textOf(id)},"document":${textOf(document)}}`, true);
    },
    delete: async (id: Json) => {
      await ask(`{"op":"delete","id":${textOf(id)}}`, true);
    },
  };
  const auth = freeze({ principal: () => quiet(ask('{"op":"principal"}')) });
  const contexts: Json = {
    query: freeze({ db: freeze(reader), auth }),
    mutation: freeze({ db: freeze(writer), auth }),
  };

  function shown(value: Json): string {
    if (typeof value === "string") return value;
    if (value instanceof Error) return `${value.name}: ${value.message}`;
    try {
      return textOf(value);
    } catch {
      return String(value);
    }
  }

  function log(level: string, values: Json[]): void {
    const logs: Json[] = state.run?.logs ?? [];
    if (logs.length >= logsMax) return;
    const text = values.map(shown).join(" ").slice(0, logLengthMax);
    logs.push(level === "log" ? text : `${level}: ${text}`);
  }

  function findFunction(modules: Json, name: string): Json {
    const at = name.lastIndexOf(":");
    return modules[name.slice(0, at)]?.[name.slice(at + 1)];
  }

  async function begin(run: Json, request: Json): Promise<void> {
    try {
      const modules = scope.bundle();
      if (request.describe) {
        run.end = `{"value":${stringify(describe(modules))}}`;
        return;
      }
      const found = findFunction(modules, request.function);
      const value = await found.handler(contexts[found.kind], decode(request.args));
      run.end = `{"value":${textOf(value)}}`;
    } catch (error) {
      run.ops.length = 0;
      run.end = outOfMemory;
      run.end = `{"error":${stringify(errorOf(error))}}`;
    }
  }

  /** For what a bundle has made: it may throw when it is looked at. */
  function attempt(read: () => Json): Json {
    try {
      return read();
    } catch {
      return undefined;
    }
  }

  function errorOf(error: Json): Json {
    const text = (read: () => Json, lengthMax = messageLengthMax) =>
      attempt(() => String(read()).slice(0, lengthMax)) ?? "";
    if (attempt(() => error instanceof Error) !== true)
      return { name: "", message: text(() => shown(error)), stack: "" };
    return {
      name: text(() => error.name),
      message: text(() => error.message),
      data: attempt(() => ("data" in error ? parse(textOf(error.data)) : undefined)),
      stack: text(() => error.stack, 4_000),
    };
  }

  function describe(modules: Json): Json {
    const functions: Json[] = [];
    for (const [path, exported] of entries(modules) as [string, Json][]) {
      for (const [name, value] of entries(exported) as [string, Json][]) {
        if (value?.kind !== "query" && value?.kind !== "mutation") continue;
        if (typeof value.handler !== "function") continue;
        const { kind, args = null, returns = null } = value;
        functions.push({ name: `${path}:${name}`, kind, args, returns });
      }
    }
    return { functions, schema: modules["schema"]?.default ?? null };
  }

  function step(text: string): void {
    const { request, answers } = parse(text);
    if (request !== undefined) {
      const run = { ops: [], waiting: [], logs: [], end: undefined };
      state.run = run;
      state.seed = request.seed >>> 0;
      state.nowMs = request.nowMs;
      void begin(run, request);
      return;
    }
    const { run } = state;
    for (const answer of answers) {
      const { resolve, reject, isWrite } = run.waiting.shift();
      if (answer.error === undefined) resolve(answer.value);
      // Of a write that the function did not wait for.
      else if (isWrite && run.end !== undefined) run.end = `{"error":${stringify({ message: answer.error })}}`;
      else reject(assign(new Error(answer.error), { name: "DatabaseError" }));
    }
  }

  function output(): string {
    const { run } = state;
    // What a function has asked for without waiting for it is done too.
    if (run.ops.length > 0) return `{"ops":[${run.ops.splice(0).join()}]}`;
    return `{"end":${run.end ?? noValue},"logs":${stringify(run.logs)}}`;
  }

  function random(): number {
    // mulberry32: small, and the same everywhere.
    state.seed = (state.seed + 0x6d2b79f5) >>> 0;
    let bits = state.seed;
    bits = Math.imul(bits ^ (bits >>> 15), bits | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return ((bits ^ (bits >>> 14)) >>> 0) / 4_294_967_296;
  }

  function FixedDate(this: unknown, ...args: Json[]): Json {
    if (new.target === undefined) return new RealDate(state.nowMs).toString();
    return args.length === 0 ? new RealDate(state.nowMs) : Reflect.construct(RealDate, args);
  }

  /** Intrinsics are shared by all runs of a sandbox: none may leave something in them for the next. */
  function freezeAll(roots: Json[]): void {
    const seen = new Set<Json>();
    const queue = [...roots];
    while (queue.length > 0) {
      const value = queue.pop();
      if ((typeof value !== "object" && typeof value !== "function") || value === null || seen.has(value)) continue;
      seen.add(value);
      queue.push(getPrototypeOf(value));
      for (const key of ownKeys(value)) {
        const property = getOwnPropertyDescriptor(value, key)!;
        if ("value" in property) queue.push(property.value);
        else queue.push(property.get, property.set);
      }
    }
    for (const value of seen) if (value !== scope) freeze(value);
  }

  /** What is frozen can't be assigned in what inherits it, as `this.name = …` of an error: a setter lets that be. */
  function letOverride(prototype: Json): void {
    for (const key of ownKeys(prototype)) {
      const { value, enumerable, configurable } = getOwnPropertyDescriptor(prototype, key)!;
      if (value === undefined || !configurable) continue;
      const set = function (this: Json, input: Json) {
        if (this === prototype) throw new TypeError(`Cannot assign to read only property '${String(key)}'`);
        defineProperty(this, key, { value: input, enumerable: true, writable: true, configurable: true });
      };
      defineProperty(prototype, key, { get: () => value, set, enumerable: enumerable ?? false, configurable: false });
    }
  }

  for (const name of [
    "WebAssembly",
    "SharedArrayBuffer",
    "Atomics",
    "WeakRef",
    "FinalizationRegistry",
    "eval",
    "Intl",
    "ShadowRealm",
  ]) {
    delete scope[name];
  }
  for (const key of ownKeys(RegExp)) {
    // The last match of any run.
    if (typeof key === "string" && /^(\$|input$|last|left|right)/.test(key)) delete (RegExp as Json)[key];
  }
  FixedDate.prototype = RealDate.prototype;
  assign(FixedDate, { now: () => state.nowMs, parse: RealDate.parse, UTC: RealDate.UTC });
  defineProperty(RealDate.prototype, "constructor", { value: FixedDate });
  scope.Date = FixedDate;
  Math.random = random;
  const console: Json = {};
  for (const level of ["log", "info", "warn", "error", "debug"])
    console[level] = (...values: Json[]) => log(level, values);
  scope.console = console;
  const noCode = () => {
    throw new EvalError("code can't be made of text");
  };
  const functionPrototypes = [
    Function.prototype,
    getPrototypeOf(async () => {}),
    getPrototypeOf(function* () {}),
    getPrototypeOf(async function* () {}),
  ];
  for (const prototype of functionPrototypes) defineProperty(prototype, "constructor", { value: noCode });
  scope.Function = noCode;
  const errors = [Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError, AggregateError];
  for (const { prototype } of [Object, ...errors]) letOverride(prototype);
  const intrinsics = ownKeys(scope).map((key) => getOwnPropertyDescriptor(scope, key)?.value);
  const iterators = [
    [][Symbol.iterator](),
    new Map().values(),
    new Set().values(),
    ""[Symbol.iterator](),
    "".matchAll(/x/g),
    // The helpers of iterators, where there are any.
    scope.Iterator?.from({ next: () => ({ done: true }) }) ?? [],
    ([][Symbol.iterator]() as Json).map?.((each: Json) => each) ?? [],
  ];
  const own = [contexts, step, output];
  freezeAll([...intrinsics, ...own, ...functionPrototypes, ...iterators.map(getPrototypeOf), (function* () {})()]);
  for (const [name, value] of entries({ step, output })) {
    defineProperty(scope, name, { value, configurable: false, writable: false });
  }
  for (const key of ownKeys(scope)) {
    const property = getOwnPropertyDescriptor(scope, key)!;
    if (property.configurable)
      defineProperty(scope, key, {
        ...property,
        ...("value" in property ? { writable: false } : {}),
        configurable: false,
      });
  }
}

/** The whole of what a sandbox runs. `bundle` is the text of a function that evaluates the modules anew and returns them. */
export function sandboxScript(bundle: string): string {
  return `"use strict";\nglobalThis.bundle = ${bundle};\n(${installHarness.toString()})();\nObject.preventExtensions(globalThis);`;
}
