"""Asks the Postgres wire with Python's clients: postgres-clients.py CLIENT HOST PORT. A line for each thing it tries."""

import asyncio
import concurrent.futures
import datetime
import decimal
import importlib.metadata
import io
import os
import ssl
import sys
import threading
import uuid

client, host, port = sys.argv[1:4]
key, authority = os.environ["INTEROP_KEY"], os.environ["INTEROP_CA"]
url = f"postgresql://tester:{key}@{host}:{port}/shop?sslmode=disable"
secured = f"postgresql://tester:{key}@{host}:{port}/shop?sslmode=verify-full&sslrootcert={authority}"
slow = "select count(*) from range(100000000000) a where a.range % 7 = 3"
columns_of = "select column_name, data_type from information_schema.columns where table_name = %s order by ordinal_position"
given = (
    True, -7, 2**40, 1.5, decimal.Decimal("12.34"), "naïve", datetime.date(2024, 2, 29),
    datetime.datetime(2024, 2, 29, 12, 34, 56, 789000, tzinfo=datetime.timezone.utc), b"\x00\xff", uuid.UUID(int=15),
    datetime.timedelta(days=1, seconds=3), [1, 2, None], None,
)
casts = ("bool", "int", "bigint", "double precision", "decimal(10,2)", "text", "date", "timestamptz", "bytea", "uuid",
         "interval", "int[]", "text")


def told(what, work):
    try:
        work()
        print(what, "ok", flush=True)
    except Exception as error:
        print(what, "no", type(error).__name__, " ".join(str(error).split())[:300], flush=True)


def equal(found, wanted):
    assert found == wanted, f"{found} is not {wanted}"


def in_parallel(ask):
    with concurrent.futures.ThreadPoolExecutor(4) as threads:
        return list(threads.map(ask, range(4)))


def with_asyncpg():
    import asyncpg

    loop = asyncio.new_event_loop()
    wait = lambda work: loop.run_until_complete(asyncio.wait_for(work, 60))
    state = {}

    async def connect():
        state["c"] = await asyncpg.connect(url)

    async def types():
        columns = ", ".join(f"${i + 1}::{cast}" for i, cast in enumerate(casts))
        equal(tuple(await state["c"].fetchrow(f"select {columns}", *given)), given)
        equal((await state["c"].fetchrow("select * from items where _id = 1"))["v"], [1.0, 0.0, 0.5])

    async def parameters():
        equal([row[0] for row in await state["c"].fetch("select _id from items where _id = any($1::bigint[])", [1, 2])], [1, 2])

    async def cursors():
        async with state["c"].transaction():
            equal(len([row async for row in state["c"].cursor("select i from range(200) t(i)")]), 200)

    async def copy():
        out = io.BytesIO()
        await state["c"].copy_from_query("select _id, title from items where _id = $1", 1, output=out)
        equal(out.getvalue(), b"1\tred shoe\n")

    async def cancel():
        try:
            await state["c"].fetch(slow, timeout=0.5)
        except asyncio.TimeoutError:
            equal(await state["c"].fetchval("select 1"), 1)
        else:
            raise AssertionError("nothing was cancelled")

    async def errors():
        try:
            await state["c"].fetch("select nope from items")
        except asyncpg.UndefinedColumnError:
            return
        raise AssertionError("an unknown column was found")

    async def pool():
        async with asyncpg.create_pool(url, min_size=2, max_size=4) as pool:
            equal(sum(await asyncio.gather(*(pool.fetchval("select $1::int", i) for i in range(8)))), 28)

    async def introspect():
        statement = await state["c"].prepare("select * from items where _id = $1")
        equal([each.name for each in statement.get_parameters()], ["int8"])

    async def tls():
        other = await asyncpg.connect(secured)
        equal(await other.fetchval("select 1"), 1)
        await other.close()

    for work in (connect, types, parameters, introspect, cursors, copy, cancel, errors, pool, tls):
        told(work.__name__, lambda: wait(work()))


def with_psycopg():
    import psycopg
    import psycopg_pool

    c = psycopg.connect(url, autocommit=True)
    print("connect ok")

    def types():
        query = "select " + ", ".join(f"%s::{cast}" for cast in casts)
        for binary in (False, True):
            equal(c.cursor(binary=binary).execute(query, given).fetchone(), given)

    def copy():
        with c.cursor().copy("copy items (_id, color) to stdout") as rows:
            equal(list(rows.rows())[0], ("1", "red"))
        with c.cursor().copy("copy (select 1, 'a') to stdout (format binary)") as rows:
            rows.set_types(["int4", "text"])
            equal(list(rows.rows()), [(1, "a")])

    def cursors():
        with c.transaction(), c.cursor("named", scrollable=True) as cursor:
            cursor.execute("select i from range(1000) t(i)")
            cursor.scroll(998, mode="absolute")
            equal(cursor.fetchall(), [(998,), (999,)])
            cursor.scroll(0, mode="absolute")
            equal(cursor.fetchone(), (0,))

    def cancel():
        timer = threading.Timer(0.5, c.cancel)
        timer.start()
        try:
            c.execute(slow)
        except psycopg.errors.QueryCanceled:
            return
        raise AssertionError("nothing was cancelled")

    def errors():
        try:
            c.execute("select nope from items")
        except psycopg.errors.UndefinedColumn as error:
            return equal(error.diag.statement_position, "8")
        raise AssertionError("an unknown column was found")

    def pool():
        with psycopg_pool.ConnectionPool(url, min_size=2, max_size=4) as pool:
            with pool.connection() as one, pool.connection() as two:
                equal(one.execute("select 1").fetchone(), two.execute("select 1").fetchone())

    def introspect():
        from psycopg.types import TypeInfo
        equal(TypeInfo.fetch(c, "float4").array_oid, 1021)

    def tls():
        with psycopg.connect(secured) as other:
            equal(other.execute("select 1").fetchone(), (1,))

    told("types", types)
    told("parameters", lambda: equal(c.execute("select _id from items where _id = any(%s) order by 1", ([3, 1],)).fetchall(), [(1,), (3,)]))
    for work in (introspect, cursors, copy, cancel, errors, pool, tls):
        told(work.__name__, work)


def with_psycopg2():
    import psycopg2
    import psycopg2.pool

    c = psycopg2.connect(url)
    print("connect ok")

    def rows(query, values=None):
        cursor = c.cursor()
        cursor.execute(query, values)
        return cursor.fetchall()

    def cursors():
        cursor = c.cursor("named", scrollable=True)
        cursor.execute("select i from range(10) t(i)")
        cursor.scroll(9)
        equal(cursor.fetchall(), [(9,)])

    def copy():
        out = io.StringIO()
        c.cursor().copy_expert("copy (select 1, 'a') to stdout csv", out)
        equal(out.getvalue(), "1,a\n")

    def errors():
        try:
            rows("select nope from items")
        except psycopg2.errors.UndefinedColumn:
            return c.rollback()
        raise AssertionError("an unknown column was found")

    def introspect():
        cursor = c.cursor()
        cursor.execute("select * from items")
        equal([(each.name, each.type_code) for each in cursor.description][:2], [("_id", 20), ("title", 25)])
        equal(rows(columns_of, ("items",))[0], ("_id", "bigint"))

    def cancel():
        timer = threading.Timer(0.5, c.cancel)
        timer.start()
        try:
            rows(slow)
        except psycopg2.errors.QueryCanceled:
            c.rollback()
            return equal(rows("select 1"), [(1,)])
        raise AssertionError("nothing was cancelled")

    def pool():
        made = psycopg2.pool.ThreadedConnectionPool(2, 4, url)

        def ask(i):
            one = made.getconn()
            with one.cursor() as cursor:
                cursor.execute("select %s", (i,))
                found = cursor.fetchone()[0]
            made.putconn(one)
            return found

        equal(in_parallel(ask), list(range(4)))
        made.closeall()

    told("types", lambda: equal(rows("select true, 7, 'ä', array[1, 2], null"), [(True, 7, "ä", [1, 2], None)]))
    told("parameters", lambda: equal(rows("select title from items where _id = %s", (2,)), [("blue hat",)]))
    for work in (introspect, cursors, copy, cancel, errors, pool):
        told(work.__name__, work)
    told("tls", lambda: psycopg2.connect(secured).close())


def with_pg8000():
    import pg8000.native

    where = {"user": "tester", "password": key, "host": host, "port": int(port), "database": "shop"}
    c = pg8000.native.Connection(**where)
    print("connect ok")
    told("types", lambda: equal(c.run("select true, 7, 'ä', array[1, 2], null"), [[True, 7, "ä", [1, 2], None]]))
    told("parameters", lambda: equal(c.run("select title from items where _id = :id", id=2), [["blue hat"]]))

    def copy():
        out = io.BytesIO()
        c.run("copy (select 1, 'a') to stdout", stream=out)
        equal(out.getvalue(), b"1\ta\n")

    def errors():
        try:
            c.run("select nope from items")
        except pg8000.native.DatabaseError:
            return
        raise AssertionError("an unknown column was found")

    def introspect():
        c.run("select * from items")
        equal([(each["name"], each["type_oid"]) for each in c.columns][:2], [("_id", 20), ("title", 25)])
        equal(c.run(columns_of.replace("%s", ":name"), name="items")[0], ["_id", "bigint"])

    def cursors():
        c.run("begin")
        c.run("declare rows scroll cursor for select i from range(10) t(i)")
        equal(c.run("fetch 2 from rows"), [[0], [1]])
        equal(c.run("fetch last from rows"), [[9]])
        c.run("close rows")
        c.run("commit")

    def pool():
        def ask(i):
            other = pg8000.native.Connection(**where)
            found = other.run("select :i::int", i=i)
            other.close()
            return found

        equal(in_parallel(ask), [[[i]] for i in range(4)])

    def tls():
        other = pg8000.native.Connection(**where, ssl_context=ssl.create_default_context(cafile=authority))
        equal(other.run("select 1"), [[1]])

    for work in (introspect, cursors, copy, errors, pool, tls):
        told(work.__name__, work)


def with_sqlalchemy():
    import sqlalchemy
    from sqlalchemy.ext.automap import automap_base

    engine = sqlalchemy.create_engine(url.replace("postgresql", "postgresql+psycopg"), pool_size=2)
    told("connect", lambda: engine.connect().close())

    def introspect():
        about = sqlalchemy.inspect(engine)
        equal(about.get_table_names(), ["items"])
        equal(about.get_table_names("streams"), ["orders"])
        equal(about.get_pk_constraint("items")["constrained_columns"], ["_id"])
        for ask in (about.get_indexes, about.get_foreign_keys, about.get_unique_constraints, about.get_check_constraints):
            equal(ask("items"), [])
        base = automap_base()
        base.prepare(autoload_with=engine)
        equal(list(base.classes.keys()), ["items"])

    def parameters():
        items = sqlalchemy.Table("items", sqlalchemy.MetaData(), autoload_with=engine)
        with engine.connect() as connection:
            found = connection.execute(sqlalchemy.select(items.c.title).where(items.c["_id"].in_([1, 2]))).scalars()
            equal(sorted(found), ["blue hat", "red shoe"])

    def cursors():
        with engine.connect().execution_options(stream_results=True) as connection:
            equal(len(connection.execute(sqlalchemy.text("select i from range(2000) t(i)")).all()), 2000)

    def types():
        items = sqlalchemy.Table("items", sqlalchemy.MetaData(), autoload_with=engine)
        with engine.connect() as connection:
            row = connection.execute(sqlalchemy.select(items).where(items.c["_id"] == 1)).mappings().one()
            equal((row["v"], row["_source"]["color"]), ([1.0, 0.0, 0.5], "red"))
            query = "select " + ", ".join(f"cast(:p{i} as {cast})" for i, cast in enumerate(casts))
            found = connection.execute(sqlalchemy.text(query), {f"p{i}": each for i, each in enumerate(given)})
            equal(tuple(found.one()), given)

    def copy():
        with engine.connect() as connection, connection.connection.cursor() as cursor:
            with cursor.copy("copy (select 1, 'a') to stdout") as rows:
                equal(b"".join(bytes(each) for each in rows), b"1\ta\n")

    def cancel():
        with engine.connect() as connection:
            timer = threading.Timer(0.5, connection.connection.driver_connection.cancel)
            timer.start()
            try:
                connection.execute(sqlalchemy.text(slow))
            except sqlalchemy.exc.OperationalError as error:
                return equal(error.orig.sqlstate, "57014")
        raise AssertionError("nothing was cancelled")

    def errors():
        try:
            with engine.connect() as connection:
                connection.execute(sqlalchemy.text("select nope from items"))
        except sqlalchemy.exc.ProgrammingError as error:
            return equal(error.orig.sqlstate, "42703")
        raise AssertionError("an unknown column was found")

    def pool():
        def ask(i):
            with engine.connect() as connection:
                return connection.execute(sqlalchemy.select(sqlalchemy.literal(i))).scalar()

        equal(in_parallel(ask), list(range(4)))
        equal(engine.pool.checkedout(), 0)

    for work in (introspect, types, parameters, cursors, copy, cancel, errors, pool):
        told(work.__name__, work)
    told("tls", lambda: sqlalchemy.create_engine(secured.replace("postgresql", "postgresql+psycopg")).connect().close())


def with_django():
    import django
    from django.conf import settings

    database = {"ENGINE": "django.db.backends.postgresql", "HOST": host, "PORT": port, "NAME": "shop", "USER": "tester",
                "PASSWORD": key, "OPTIONS": {"sslmode": "disable"}}
    other = {**database, "OPTIONS": {"sslmode": "verify-full", "sslrootcert": authority}}
    pooled = {**database, "OPTIONS": {"sslmode": "disable", "pool": {"min_size": 2, "max_size": 4}}}
    settings.configure(DATABASES={"default": database, "secured": other, "pooled": pooled}, INSTALLED_APPS=[])
    django.setup()
    from django.contrib.postgres.fields import ArrayField
    from django.core.management import call_command
    from django.db import connection, connections, models, utils

    def connect():
        with connection.cursor() as cursor:
            cursor.execute("select title from items where _id = %s", [1])
            equal(cursor.fetchall(), [("red shoe",)])

    def introspect():
        out = io.StringIO()
        call_command("inspectdb", stdout=out)
        assert "primary_key=True" in out.getvalue() and "Unable to inspect" not in out.getvalue(), out.getvalue()

    # Without _source: a JSONField takes jsonb only, which psycopg does not read by itself.
    class Item(models.Model):
        id = models.BigIntegerField(primary_key=True, db_column="_id")
        title = models.TextField()
        color = models.TextField()
        v = ArrayField(models.FloatField())

        class Meta:
            app_label = "shop"
            managed = False
            db_table = "items"

    def types():
        item = Item.objects.get(pk=1)
        equal((item.id, item.title, item.v), (1, "red shoe", [1.0, 0.0, 0.5]))
        with connection.cursor() as cursor:
            # It writes values into the statement.
            values = [(cast, value) for cast, value in zip(casts, given) if cast != "bytea"]
            cursor.execute("select " + ", ".join(f"%s::{cast}" for cast, _ in values), [value for _, value in values])
            equal(cursor.fetchone(), tuple(value for _, value in values))

    def parameters():
        found = Item.objects.filter(color="red", id__in=[1, 2, 3]).exclude(title__icontains="SHOE").values_list("id", flat=True)
        equal(list(found), [3])
        equal(list(Item.objects.values("color").annotate(n=models.Count("id")).order_by("color").values_list("color", "n")), [("blue", 1), ("red", 2)])

    def cursors():
        equal([item.id for item in Item.objects.order_by("id").iterator(chunk_size=2)], [1, 2, 3])

    def copy():
        with connection.cursor() as cursor, cursor.copy("copy (select 1, 'a') to stdout") as rows:
            equal(b"".join(bytes(each) for each in rows), b"1\ta\n")

    def cancel():
        timer = threading.Timer(0.5, connection.connection.cancel)
        timer.start()
        try:
            with connection.cursor() as cursor:
                cursor.execute(slow)
        except utils.OperationalError as error:
            return equal(error.__cause__.sqlstate, "57014")
        raise AssertionError("nothing was cancelled")

    def errors():
        try:
            list(Item.objects.extra(where=["nope = 1"]))
        except utils.ProgrammingError as error:
            return equal(error.__cause__.sqlstate, "42703")
        raise AssertionError("an unknown column was found")

    def pool():
        def ask(i):
            with connections["pooled"].cursor() as cursor:
                cursor.execute("select %s", [i])
                found = cursor.fetchone()[0]
            connections["pooled"].close()
            return found

        equal(in_parallel(ask), list(range(4)))
        connections["pooled"].close_pool()

    for work in (connect, introspect, types, parameters, cursors, copy, cancel, errors, pool):
        told(work.__name__, work)
    told("tls", connections["secured"].ensure_connection)


def with_adbc():
    import adbc_driver_postgresql.dbapi

    c = adbc_driver_postgresql.dbapi.connect(url)
    print("connect ok")

    def rows(query, values=None):
        with c.cursor() as cursor:
            cursor.execute(query, values)
            return cursor.fetch_arrow_table().to_pylist()

    def types():
        query = (
            "select true a, 7::int b, 1.5::float8 c, 'ä' d, date '2024-02-29' e, '\\x00ff'::bytea f,"
            " array[1, 2]::int[] g, null::text h"
        )
        equal(tuple(rows(query)[0].values()), (True, 7, 1.5, "ä", datetime.date(2024, 2, 29), b"\x00\xff", [1, 2], None))

    def cursors():
        with c.cursor() as cursor:
            cursor.execute("select i from range(200000) t(i)")
            counts = [batch.num_rows for batch in cursor.fetch_record_batch()]
            equal(sum(counts), 200000)

    def cancel():
        with c.cursor() as cursor:
            timer = threading.Timer(0.5, cursor.adbc_cancel)
            timer.start()
            try:
                cursor.execute(slow)
                cursor.fetchall()
            except adbc_driver_postgresql.dbapi.Error as error:
                assert error.sqlstate == "57014" or "cancel" in str(error).lower(), error
            else:
                raise AssertionError("nothing was cancelled")
        c.rollback()
        equal(rows("select 1 as x"), [{"x": 1}])

    def errors():
        try:
            rows("select nope from items")
        except adbc_driver_postgresql.dbapi.Error as error:
            c.rollback()
            return equal(error.sqlstate, "42703")
        raise AssertionError("an unknown column was found")

    def pool():
        def ask(i):
            with c.adbc_clone() as one, one.cursor() as cursor:
                cursor.execute(f"select {i}")
                return cursor.fetchone()[0]

        equal(in_parallel(ask), list(range(4)))

    told("copy", lambda: equal(rows("select v from items where _id = 1"), [{"v": [1.0, 0.0, 0.5]}]))
    for work in (types, cursors, cancel, errors, pool):
        told(work.__name__, work)
    told("parameters", lambda: equal(rows("select $1::bigint + 1 as x", (5,)), [{"x": 6}]))
    told("tls", lambda: adbc_driver_postgresql.dbapi.connect(secured).close())
    told("introspect", lambda: equal(c.adbc_get_table_schema("items").names[0], "_id") or c.adbc_get_objects(depth="all").read_all())


def with_connectorx():
    import connectorx

    def rows(query, where=url):
        return connectorx.read_sql(where, query, return_type="arrow").num_rows

    def types():
        query = "select true a, 7::int b, 1.5::float8 c, 'ä' d, date '2024-02-29' e, uuid '00000000-0000-0000-0000-00000000000f' f, v from items where _id = 1"
        (row,) = connectorx.read_sql(url, query, return_type="arrow").to_pylist()
        equal(tuple(row.values()), (True, 7, 1.5, "ä", datetime.date(2024, 2, 29), str(uuid.UUID(int=15)), [1.0, 0.0, 0.5]))

    def errors():
        try:
            rows("select nope from items")
        except RuntimeError as error:
            assert "nope" in str(error), error
        else:
            raise AssertionError("an unknown column was found")

    def pool():
        query = "select _id, title from items"
        equal(connectorx.read_sql(url, query, partition_on="_id", partition_num=3, return_type="arrow").num_rows, 3)

    told("connect", lambda: rows("select 1"))
    for work in (types, errors, pool):
        told(work.__name__, work)
    told("copy", lambda: equal(rows("select * from items"), 3))
    told("tls", lambda: rows("select 1", secured.replace("verify-full", "require")))


def with_polars():
    import adbc_driver_postgresql.dbapi
    import polars

    def by_adbc(query, where=url, **options):
        return polars.read_database_uri(query, where, engine="adbc", **options)

    def parameters():
        options = {"parameters": [2]}
        equal(by_adbc("select title from items where _id = $1", execute_options=options).rows(), [("blue hat",)])

    def cursors():
        with adbc_driver_postgresql.dbapi.connect(url) as connection:
            parts = polars.read_database("select i from range(5000) t(i)", connection, iter_batches=True, batch_size=1000)
            equal(sum(each.height for each in parts), 5000)

    def errors():
        try:
            by_adbc("select nope from items")
        except adbc_driver_postgresql.dbapi.Error as error:
            return equal(error.sqlstate, "42703")
        raise AssertionError("an unknown column was found")

    told("connect", lambda: polars.read_database_uri("select 1 as x", url))
    told("copy", lambda: equal(polars.read_database_uri("select * from items", url).shape[0], 3))
    told("types", lambda: equal(polars.read_database_uri("select v from items where _id = 1", url, engine="adbc")["v"][0].to_list(), [1.0, 0.0, 0.5]))
    for work in (parameters, cursors, errors):
        told(work.__name__, work)
    told("tls", lambda: by_adbc("select 1 as x", secured))


def with_pgcli():
    from pgcli.pgexecute import PGExecute

    state = {}

    def connect():
        state["x"] = PGExecute("shop", "tester", key, host, port, None, sslmode="disable")

    def introspect():
        x = state["x"]
        equal(("collections", "items") in list(x.tables()), True)
        equal(list(x.search_path()), ["pg_catalog", "collections"])
        for ask in (x.schemata, x.table_columns, x.views, x.view_columns, x.foreignkeys, x.datatypes, x.functions, x.databases, x.casing):
            list(ask())

    def rows(statement):
        return [list(found) for _, found, *_ in state["x"].run(statement) if found is not None]

    def errors():
        ((*_, status, is_ok, _),) = state["x"].run("select nope from items", exception_formatter=str)
        assert not is_ok and "nope" in str(status), status

    told("connect", connect)
    told("introspect", introspect)
    told("types", lambda: equal(rows("select true, 7, 'ä', array[1, 2], null"), [[(True, 7, "ä", [1, 2], None)]]))
    told("errors", errors)
    told("tls", lambda: PGExecute(dsn=secured))


packages = {"adbc": "adbc-driver-postgresql", "psycopg2": "psycopg2-binary"}
print("version", importlib.metadata.version(packages.get(client, client)))
told_connect = globals()["with_" + client]
try:
    told_connect()
except Exception as error:
    print("connect no", type(error).__name__, " ".join(str(error).split())[:300])
