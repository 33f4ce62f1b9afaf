import { postgresTypes } from "./types.ts";

/** The functions that read and write the types, with the numbers that they have in every Postgres; those of `vector` are ours. */
const words = `
   byteaout 31 charout 33 namein 34 nameout 35 int2in 38 int2out 39 int2vectorin 40 int2vectorout 41 int4in 42
   int4out 43 regprocin 44 regprocout 45 textin 46 textout 47 tidin 48 tidout 49 xidin 50 xidout 51 cidin 52
   cidout 53 oidvectorin 54 oidvectorout 55 unknownin 109 unknownout 110 float4in 200 float4out 201 float8in 214
   float8out 215 json_in 321 json_out 322 json_recv 323 json_send 324 macaddr_in 436 macaddr_out 437 int8in 460
   int8out 461 array_in 750 array_out 751 inet_in 910 inet_out 911 bpcharin 1044 bpcharout 1045 varcharin 1046
   varcharout 1047 date_in 1084 date_out 1085 time_in 1143 time_out 1144 timestamptz_in 1150 timestamptz_out
   1151 interval_in 1160 interval_out 1161 boolin 1242 boolout 1243 byteain 1244 charin 1245 cidr_in 1267
   timestamp_in 1312 timestamp_out 1313 timetz_in 1350 timetz_out 1351 cidr_out 1427 bit_in 1564 bit_out 1565
   varbit_in 1579 varbit_out 1580 numeric_in 1701 numeric_out 1702 oidin 1798 oidout 1799 regclassin 2218
   regclassout 2219 regtypein 2220 regtypeout 2221 record_in 2290 record_out 2291 cstring_in 2292 cstring_out
   2293 void_in 2298 void_out 2299 trigger_in 2300 trigger_out 2301 array_recv 2400 array_send 2401 record_recv
   2402 record_send 2403 int2recv 2404 int2send 2405 int4recv 2406 int4send 2407 int8recv 2408 int8send 2409
   int2vectorrecv 2410 int2vectorsend 2411 bytearecv 2412 byteasend 2413 textrecv 2414 textsend 2415 unknownrecv
   2416 unknownsend 2417 oidrecv 2418 oidsend 2419 oidvectorrecv 2420 oidvectorsend 2421 namerecv 2422 namesend
   2423 float4recv 2424 float4send 2425 float8recv 2426 float8send 2427 bpcharrecv 2430 bpcharsend 2431
   varcharrecv 2432 varcharsend 2433 charrecv 2434 charsend 2435 boolrecv 2436 boolsend 2437 tidrecv 2438
   tidsend 2439 xidrecv 2440 xidsend 2441 cidrecv 2442 cidsend 2443 regprocrecv 2444 regprocsend 2445
   regclassrecv 2452 regclasssend 2453 regtyperecv 2454 regtypesend 2455 bit_recv 2456 bit_send 2457 varbit_recv
   2458 varbit_send 2459 numeric_recv 2460 numeric_send 2461 date_recv 2468 date_send 2469 time_recv 2470
   time_send 2471 timetz_recv 2472 timetz_send 2473 timestamp_recv 2474 timestamp_send 2475 timestamptz_recv
   2476 timestamptz_send 2477 interval_recv 2478 interval_send 2479 macaddr_recv 2494 macaddr_send 2495
   inet_recv 2496 inet_send 2497 cidr_recv 2498 cidr_send 2499 cstring_recv 2500 cstring_send 2501 xml_in 2893
   xml_out 2894 xml_recv 2898 xml_send 2899 uuid_in 2952 uuid_out 2953 uuid_recv 2961 uuid_send 2962 void_recv
   3120 void_send 3121 jsonb_send 3803 jsonb_out 3804 jsonb_recv 3805 jsonb_in 3806
   vector_in 16390 vector_out 16391 vector_recv 16392 vector_send 16393`
  .trim()
  .split(/\s+/);

const functions = words.flatMap((name, i) => (i % 2 === 0 ? [{ name, oid: Number(words[i + 1]) }] : []));
const cstring = 2275;
const internal = 2281;
const anyArray = 2277;
const bytes = 17;

/** The number of such a function; that of none is 0. */
export const functionOid = `coalesce(map([${functions.map(({ name }) => `'${name}'`).join(", ")}],
  [${functions.map(({ oid }) => `${oid}::UINTEGER`).join(", ")}])[name], 0::UINTEGER)`;

function rowOf({ name, oid }: (typeof functions)[number]): string {
  const [, base = "", what = ""] = /^(.*?)_?(in|out|recv|send)$/.exec(name) ?? [];
  const type = postgresTypes.find(([, each]) => each === base)?.[0] ?? anyArray;
  const takes = what === "in" ? cstring : what === "recv" ? internal : type;
  const gives = what === "out" ? cstring : what === "send" ? bytes : type;
  return `(${oid}, '${name}', ${takes}, ${gives})`;
}

/** pg_proc: of all functions those that look-ups of types join. */
export const procQuery = `SELECT oid::UINTEGER AS oid, proname, 11::UINTEGER AS pronamespace, 10::UINTEGER AS proowner, 12::UINTEGER AS prolang,
    1::DOUBLE AS procost, 0::DOUBLE AS prorows, 0::UINTEGER AS provariadic, '-' AS prosupport, 'f' AS prokind, false AS prosecdef,
    false AS proleakproof, true AS proisstrict, false AS proretset, 'i' AS provolatile, 's' AS proparallel, 1::SMALLINT AS pronargs,
    0::SMALLINT AS pronargdefaults, gives::UINTEGER AS prorettype, [takes]::UINTEGER[] AS proargtypes, NULL::UINTEGER[] AS proallargtypes,
    NULL::VARCHAR[] AS proargmodes, NULL::VARCHAR[] AS proargnames, NULL::VARCHAR AS proargdefaults, NULL::UINTEGER[] AS protrftypes,
    proname AS prosrc, NULL::VARCHAR AS probin, NULL::VARCHAR AS prosqlbody, NULL::VARCHAR[] AS proconfig, NULL::VARCHAR[] AS proacl,
    1255::UINTEGER AS tableoid, 0::UINTEGER AS xmin
  FROM (VALUES ${functions.map(rowOf).join(", ")}) AS t(oid, proname, takes, gives)`;
