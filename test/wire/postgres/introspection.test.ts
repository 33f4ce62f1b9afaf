import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import pg from "pg";
import { ServerProcess } from "../../support/process.ts";
import { makeShop } from "./shop.ts";

let server: ServerProcess;
let client: pg.Client;

before(async () => {
  server = await ServerProcess.start();
  await makeShop(server.url);
  client = new pg.Client({ ...server.postgres, user: "test", database: "shop" });
  await client.connect();
});
after(async () => {
  await client.end();
  await server[Symbol.asyncDispose]();
});

/** Grafana's way to tell whether a schema is in the search path. */
const isVisible =
  "quote_ident(table_schema) in (select case when trim(s[i]) = '\"$user\"' then user else trim(s[i]) end from generate_series(array_lower(string_to_array(current_setting('search_path'), ','), 1), array_upper(string_to_array(current_setting('search_path'), ','), 1)) as i, string_to_array(current_setting('search_path'), ',') s)";

/** What tools ask the catalogs when they connect and list tables, in short, with how many rows answer each. */
for (const [what, query, count] of [
  [
    "psql: tables of the search path",
    "select c.relname, case c.relkind when 'r' then 'table' when 'i' then 'index' end, pg_catalog.pg_get_userbyid(c.relowner) from pg_catalog.pg_class c left join pg_catalog.pg_namespace n on n.oid = c.relnamespace left join pg_catalog.pg_am am on am.oid = c.relam where c.relkind in ('r','p','') and n.nspname !~ '^pg_toast' and pg_catalog.pg_table_is_visible(c.oid) order by 1",
    1,
  ],
  [
    "psql: a table by its name",
    "select c.oid, n.nspname from pg_catalog.pg_class c left join pg_catalog.pg_namespace n on n.oid = c.relnamespace where c.relname operator(pg_catalog.~) '^(items)$' collate pg_catalog.default and pg_catalog.pg_table_is_visible(c.oid)",
    1,
  ],
  [
    "psql: the columns of a catalog by its name",
    "select a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod) from pg_catalog.pg_attribute a join pg_catalog.pg_class c on c.oid = a.attrelid where c.relname operator(pg_catalog.~) '^(pg_am)$' collate pg_catalog.default and pg_catalog.pg_table_is_visible(c.oid) and a.attnum > 0 and not a.attisdropped order by a.attnum",
    4,
  ],
  [
    "psql: its indexes",
    "select c2.relname, i.indisprimary, pg_catalog.pg_get_indexdef(i.indexrelid, 0, true), pg_catalog.pg_get_constraintdef(con.oid, true) from pg_catalog.pg_class c, pg_catalog.pg_class c2, pg_catalog.pg_index i left join pg_catalog.pg_constraint con on (conrelid = i.indrelid and conindid = i.indexrelid and contype in ('p','u','x')) where c.oid = 'items'::regclass and c.oid = i.indrelid and i.indexrelid = c2.oid",
    1,
  ],
  [
    "JDBC: keys",
    "select a.attname, (i.keys).n as seq from pg_catalog.pg_class ct join pg_catalog.pg_attribute a on ct.oid = a.attrelid join (select indexrelid, indrelid, indisprimary, information_schema._pg_expandarray(indkey) as keys from pg_catalog.pg_index) i on a.attnum = (i.keys).x and a.attrelid = i.indrelid where ct.relname = 'items' and i.indisprimary",
    1,
  ],
  [
    "JDBC: columns",
    "select a.attname, a.atttypid, a.attnotnull or (t.typtype = 'd' and t.typnotnull) as attnotnull, a.atttypmod, row_number() over (partition by a.attrelid order by a.attnum) as attnum, pg_catalog.pg_get_expr(def.adbin, def.adrelid) from pg_catalog.pg_namespace n join pg_catalog.pg_class c on c.relnamespace = n.oid join pg_catalog.pg_attribute a on a.attrelid = c.oid join pg_catalog.pg_type t on a.atttypid = t.oid left join pg_catalog.pg_attrdef def on a.attrelid = def.adrelid and a.attnum = def.adnum where c.relkind in ('r','p','v') and a.attnum > 0 and n.nspname like 'collections' and c.relname like 'items'",
    5,
  ],
  [
    "DBeaver: databases",
    "select db.oid, db.*, pg_catalog.shobj_description(db.oid, 'pg_database') from pg_catalog.pg_database db where datallowconn and not datistemplate order by datname",
    1,
  ],
  [
    "DBeaver: types",
    "select t.oid, t.*, c.relkind, format_type(nullif(t.typbasetype, 0), t.typtypmod) as base, d.description from pg_catalog.pg_type t left join pg_catalog.pg_class c on c.oid = t.typrelid left join pg_catalog.pg_description d on t.oid = d.objoid where t.typname is not null and (c.relkind is null or c.relkind = 'c') and t.typname = 'int8'",
    1,
  ],
  [
    "DBeaver: sizes",
    "select c.oid, pg_catalog.pg_total_relation_size(c.oid), pg_catalog.pg_size_pretty(pg_catalog.pg_relation_size(c.oid)) from pg_class c where c.relnamespace = 'collections'::regnamespace::oid and c.relkind = 'r'",
    1,
  ],
  [
    "IntelliJ: what has changed since",
    "select t.oid::bigint as id, t.xmin as state, pg_catalog.age(t.xmin) <= coalesce(nullif(pg_catalog.age('0'::xid), -1), 2147483647) as changed, t.relname from pg_catalog.pg_class t where relnamespace = 'collections'::regnamespace::oid and relkind in ('r','m','v')",
    1,
  ],
  [
    "IntelliJ: databases by age",
    "select n.oid::bigint as id, datname as name, pg_catalog.age(n.datfrozenxid) from pg_catalog.pg_database n",
    1,
  ],
  [
    "Grafana: tables with a column of time",
    "select quote_ident(table_schema) || '.' || quote_ident(table_name) as t from information_schema.columns where data_type in ('timestamp without time zone', 'timestamp with time zone') and table_schema not in ('information_schema', 'pg_catalog') and (table_schema = any(current_schemas(true)) or table_schema = 'streams') group by 1 order by 1",
    1,
  ],
  ["Grafana: the version", "select current_setting('server_version_num')::int / 100 as version", 1],
  ["Grafana: an extension", "select extversion from pg_extension where extname = 'timescaledb'", 0],
  [
    "Grafana: schemas",
    "select schema_name as name from information_schema.schemata where schema_name not in ('information_schema', 'pg_catalog', 'pg_toast') order by schema_name",
    5,
  ],
  [
    "Grafana: tables",
    `select case when ${isVisible} then quote_ident(table_name) else quote_ident(table_schema) || '.' || quote_ident(table_name) end as t from information_schema.tables where quote_ident(table_schema) not in ('information_schema', 'pg_catalog') order by case when ${isVisible} then 0 else 1 end, 1`,
    2,
  ],
  ...(["streams.orders", "items"] as const).map((table, i) => {
    const isNamed = `case when array_length(parse_ident('${table}'), 1) = 2 then quote_ident(table_schema) = (parse_ident('${table}'))[1] and quote_ident(table_name) = (parse_ident('${table}'))[2] else quote_ident(table_name) = '${table}' and ${isVisible} end`;
    const query = `select quote_ident(column_name), data_type from information_schema.columns where ${isNamed}`;
    return [`Grafana: columns of ${table}`, query, [6, 5][i]!] as const;
  }),
  [
    "Tableau: where it is",
    "select current_schema(), current_database(), set_config('extra_float_digits', '2', false)",
    1,
  ],
  [
    "Metabase: privileges",
    "with p as (select c.oid, t.schemaname as schema, t.tablename as name, pg_catalog.has_any_column_privilege(current_user, '\"' || replace(t.schemaname, '\"', '\"\"') || '\".\"' || t.tablename || '\"', 'update') as writes, pg_catalog.has_table_privilege(current_user, c.oid, 'select') as reads from pg_catalog.pg_tables t join pg_catalog.pg_class c on c.relname = t.tablename where t.schemaname !~ '^pg_') select schema, name from p where reads and not writes",
    2,
  ],
  [
    "Metabase: tables",
    "select n.nspname as schema, c.relname as name, case c.relkind when 'r' then 'TABLE' when 'v' then 'VIEW' else null end as type, d.description, stat.n_live_tup from pg_catalog.pg_class c inner join pg_catalog.pg_namespace n on c.relnamespace = n.oid left join pg_catalog.pg_description d on (c.oid = d.objoid) and (d.objsubid = 0) and (d.classoid = 'pg_class'::regclass) left join pg_stat_user_tables stat on (n.nspname = stat.schemaname) and (c.relname = stat.relname) where n.nspname !~ '^pg_' and n.nspname <> 'information_schema' and c.relkind in ('r', 'p', 'v', 'f', 'm') and n.nspname in ('collections', 'streams') order by type, schema, name",
    2,
  ],
  [
    "Metabase: fields",
    "select c.column_name as name, case when c.udt_schema in ('public', 'pg_catalog') then format('%s', c.udt_name) else format('\"%s\".\"%s\"', c.udt_schema, c.udt_name) end as \"database-type\", c.ordinal_position - 1 as position, pk.column_name is not null as \"pk?\", col_description(cast(cast(format('%I.%I', cast(c.table_schema as text), cast(c.table_name as text)) as regclass) as oid), c.ordinal_position) as comment, (column_default is null or lower(column_default) = 'null') and is_nullable = 'NO' and not ((column_default is not null and column_default like '%nextval(%') or is_identity <> 'NO') as required from information_schema.columns c left join (select tc.table_schema, tc.table_name, kc.column_name from information_schema.table_constraints tc inner join information_schema.key_column_usage kc on tc.constraint_name = kc.constraint_name and tc.table_schema = kc.table_schema and tc.table_name = kc.table_name where tc.constraint_type = 'PRIMARY KEY') pk on c.table_schema = pk.table_schema and c.table_name = pk.table_name and c.column_name = pk.column_name where c.table_schema !~ '^information_schema|catalog_history|pg_' union all select pa.attname, pt.typname, pa.attnum - 1, false, null, false from pg_catalog.pg_class pc inner join pg_catalog.pg_attribute pa on pa.attrelid = pc.oid inner join pg_catalog.pg_type pt on pt.oid = pa.atttypid where pc.relkind = 'm' and pa.attnum >= 1 order by name, position",
    11,
  ],
  [
    "Metabase: foreign keys",
    "select fk_table.relname, fk_column.attname, pk_column.attname from pg_constraint c inner join pg_class fk_table on c.conrelid = fk_table.oid inner join pg_namespace fk_ns on c.connamespace = fk_ns.oid inner join pg_attribute fk_column on c.conrelid = fk_column.attrelid inner join pg_attribute pk_column on c.confrelid = pk_column.attrelid where fk_ns.nspname !~ '^information_schema|catalog_history|pg_' and c.contype = 'f'::char and fk_column.attnum = any(c.conkey) and pk_column.attnum = any(c.confkey)",
    0,
  ],
  [
    "Metabase: indexes",
    "select tmp.name, trim(both '\"' from pg_catalog.pg_get_indexdef(tmp.ci_oid, tmp.pos, false)) as field from (select ct.relname as name, ci.oid as ci_oid, (information_schema._pg_expandarray(i.indkey)).n as pos from pg_catalog.pg_class ct inner join pg_catalog.pg_index i on ct.oid = i.indrelid inner join pg_catalog.pg_class ci on ci.oid = i.indexrelid where pg_catalog.pg_get_expr(i.indpred, i.indrelid) is null) tmp where tmp.pos = 1",
    1,
  ],
  [
    "Metabase: enums",
    "select nspname, typname from pg_type t join pg_namespace n on n.oid = t.typnamespace where t.oid in (select distinct enumtypid from pg_enum e)",
    0,
  ],
  [
    "drizzle-kit: constraints",
    "select tc.table_name, tc.constraint_type, kcu.column_name from information_schema.table_constraints tc join information_schema.key_column_usage kcu on tc.constraint_name = kcu.constraint_name and tc.table_schema = kcu.table_schema where tc.table_schema = 'collections'",
    1,
  ],
  [
    "drizzle-kit: columns",
    'select a.attrelid::regclass::text, a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), pg_get_serial_sequence(\'"collections"."items"\', a.attname)::regclass as seq from pg_attribute a where a.attrelid = \'"collections"."items"\'::regclass and a.attnum > 0 and not a.attisdropped',
    5,
  ],
  [
    "Prisma: tables",
    "select tbl.relname, (tbl.relhassubclass and tbl.relkind = 'p') as parted, obj_description(tbl.oid, 'pg_class') from pg_class tbl inner join pg_namespace ns on ns.oid = tbl.relnamespace where ((tbl.relkind = 'r' and tbl.relispartition = 'f') or tbl.relkind = 'p') and ns.nspname = any('{collections}') order by ns.nspname, tbl.relname",
    1,
  ],
  [
    "Prisma: indexes",
    "with raw as (select tableinfo.relname, indexinfo.relname as index_name, unnest(rawindex.indkey) as attnum, generate_subscripts(rawindex.indkey, 1) - 1 as idx from pg_index rawindex join pg_class tableinfo on tableinfo.oid = rawindex.indrelid join pg_class indexinfo on indexinfo.oid = rawindex.indexrelid) select raw.index_name, attr.attname from raw join pg_attribute attr on attr.attnum = raw.attnum join pg_class c on c.oid = attr.attrelid and c.relname = raw.relname",
    1,
  ],
  [
    "Django: constraints",
    "select c.conname, array(select attname from unnest(c.conkey) with ordinality cols(colid, arridx) join pg_attribute as ca on cols.colid = ca.attnum where ca.attrelid = c.conrelid order by cols.arridx), c.contype, (select fkc.relname || '.' || fka.attname from pg_attribute as fka join pg_class as fkc on fka.attrelid = fkc.oid where fka.attrelid = c.confrelid and fka.attnum = c.confkey[1]), cl.reloptions from pg_constraint as c join pg_class as cl on c.conrelid = cl.oid where cl.relname = 'items' and pg_catalog.pg_table_is_visible(cl.oid)",
    1,
  ],
  [
    "Rails: indexes",
    "select distinct i.relname, d.indisunique, d.indkey, pg_get_indexdef(d.indexrelid), t.oid, pg_catalog.obj_description(i.oid, 'pg_class') from pg_class t inner join pg_index d on t.oid = d.indrelid inner join pg_class i on d.indexrelid = i.oid left join pg_namespace n on n.oid = t.relnamespace where i.relkind in ('i', 'I') and d.indisprimary = 't' and t.relname = 'items' and n.nspname = any (current_schemas(false))",
    1,
  ],
  ["pgcli: where names are looked for", "select * from unnest(current_schemas(true))", 2],
  [
    "pgcli: tables",
    "select n.nspname schema_name, c.relname table_name from pg_catalog.pg_class c left join pg_catalog.pg_namespace n on n.oid = c.relnamespace where c.relkind = any('{r,p,f}') and n.nspname in ('collections', 'streams') order by 1, 2",
    2,
  ],
  [
    "pgcli: columns",
    "select n.nspname schema_name, c.relname table_name, a.attname column_name, a.atttypid::regtype::text type_name, a.atthasdef as has_default, pg_catalog.pg_get_expr(d.adbin, d.adrelid, true) as default from pg_catalog.pg_attribute a inner join pg_catalog.pg_class c on a.attrelid = c.oid inner join pg_catalog.pg_namespace n on c.relnamespace = n.oid left outer join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum where c.relkind = any('{r,p,f}') and not a.attisdropped and a.attnum > 0 and c.relname = 'items' order by 1, 2, a.attnum",
    5,
  ],
  [
    "pgcli: foreign keys",
    "select p.relname, unnest((select array_agg(attname order by i) from (select unnest(confkey) as attnum, generate_subscripts(confkey, 1) as i) x join pg_catalog.pg_attribute a using (attnum) where a.attrelid = k.confrelid)) as parentcolumn from pg_catalog.pg_constraint k join pg_catalog.pg_class p on p.oid = k.confrelid where k.contype = 'f'",
    0,
  ],
  [
    "pgcli: types",
    "select n.nspname, t.typname from pg_catalog.pg_type t inner join pg_catalog.pg_namespace n on n.oid = t.typnamespace where (t.typrelid = 0 or (select c.relkind = 'c' from pg_catalog.pg_class c where c.oid = t.typrelid)) and not exists(select 1 from pg_catalog.pg_type el where el.oid = t.typelem and el.typarray = t.oid) and n.nspname not in ('pg_catalog', 'information_schema')",
    0,
  ],
  [
    "pgcli: functions",
    "select n.nspname, p.proname, p.proargnames, coalesce(proallargtypes::regtype[], proargtypes::regtype[])::text[], p.proargmodes, prorettype::regtype::text, p.prokind = 'a' is_aggregate, d.deptype = 'e' is_extension, pg_get_expr(proargdefaults, 0) from pg_catalog.pg_proc p inner join pg_catalog.pg_namespace n on n.oid = p.pronamespace left join pg_depend d on d.objid = p.oid and d.deptype = 'e' where p.prorettype::regtype != 'trigger'::regtype and n.nspname = 'collections'",
    0,
  ],
  [
    "pgcli: how names are written",
    "with words as (select regexp_split_to_table(prosrc, '\\W+') as word, count(1) from pg_catalog.pg_proc p join pg_catalog.pg_namespace n on n.oid = p.pronamespace join pg_catalog.pg_language l on l.oid = p.prolang where l.lanname in ('sql', 'plpgsql') group by word), ranked as (select word, row_number() over(partition by lower(word) order by count desc) from words where word ~* '.*[a-z].*'), names as (select attname as name from pg_catalog.pg_attribute union select relname from pg_catalog.pg_class union select unnest(proargnames) from pg_proc) select word from ranked where lower(word) in (select name from names) and row_number = 1",
    0,
  ],
  [
    "pgcli: the words of a text, counted",
    "with words as (select regexp_split_to_table(title, '\\W+') as word, count(1) from items where _id < 3 group by word), ranked as (select word, row_number() over (order by count desc, word) from words) select word from ranked where row_number <= 3",
    3,
  ],
  [
    "asyncpg: a type and its items",
    "with recursive tree(oid, name, elem, depth) as (select t.oid, t.typname, t.typelem, 0 from pg_type t where t.oid = any('{1021}'::oid[]) union all select t.oid, t.typname, t.typelem, tree.depth + 1 from pg_type t, tree where tree.elem = t.oid) select * from tree",
    2,
  ],
  [
    "pg_dump: settings",
    "select name, setting from pg_settings where name in ('synchronize_seqscans', 'row_security', 'search_path')",
    3,
  ],
] as const) {
  test(what, async () => {
    assert.equal((await client.query(query)).rows.length, count);
  });
}
