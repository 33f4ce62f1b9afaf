"""Asks the MySQL wire with Python's clients: mysql-clients.py CLIENT HOST PORT. A line for each thing that it tries."""

import concurrent.futures
import importlib.metadata
import os
import ssl
import sys
import threading

client, host, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
key, authority = os.environ["INTEROP_KEY"], os.environ["INTEROP_CA"]
slow = "SELECT SUM(a.range * b.range) FROM range(100000) a, range(100000) b"
where = {"host": host, "port": port, "user": "tester", "password": key, "database": "shop"}


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


def killed(connect, number, work, fault):
    """The number of the error with which a statement ends that another connection kills."""
    ended = threading.Event()

    def kill():
        other = connect()
        # One that comes before the statement ends nothing.
        while not ended.wait(0.3):
            other.cursor().execute(f"KILL QUERY {number}")
        other.close()

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        work()
    except fault as error:
        return error.args[0]
    finally:
        ended.set()
        killer.join()
    raise AssertionError("nothing was cancelled")


def plain(connect, connect_secured, fault, unbuffered, number, pooled, **cursor):
    """unbuffered makes a cursor that reads rows as they come, number tells that of a connection, pooled is one of a pool."""
    state = {}

    def opened():
        state["c"] = connect()

    def rows(query, values=()):
        with state["c"].cursor(**cursor) as each:
            each.execute(query, values)
            return [tuple(row) for row in each.fetchall()]

    def errors():
        try:
            rows("SELECT nope FROM docs")
        except fault as error:
            return equal(error.args[0], 1054)
        raise AssertionError("an unknown column was found")

    def cursors():
        with unbuffered(state["c"]) as each:
            each.execute("SELECT range FROM range(10000)")
            equal(each.fetchone()[0], 0)
            equal([row[0] for row in each.fetchmany(2)], [1, 2])
            equal(len(each.fetchall()), 9997)

    def cancel():
        equal(killed(connect, number(state["c"]), lambda: rows(slow), fault), 1317)
        equal(rows("SELECT 1"), [(1,)])

    def pool():
        def ask(i):
            one = pooled()
            with one.cursor() as each:
                each.execute("SELECT %s", (i,))
                found = each.fetchone()[0]
            one.close()
            return found

        equal(in_parallel(ask), list(range(4)))

    mark = "?" if cursor.get("prepared") else "%s"
    told("connect", opened)
    told("types", lambda: equal(rows("SELECT _id, title, price, n FROM docs WHERE _id = 1"), [(1, "red apple", 1.5, 1)]))
    told("parameters", lambda: equal(rows(f"SELECT _id FROM docs WHERE title = {mark}", ("grüner Apfel",)), [(2,)]))
    told("introspect", lambda: equal(rows("SHOW TABLES")[0], ("docs",)))
    for work in (cursors, cancel, errors, pool):
        told(work.__name__, work)

    def tls():
        state["c"] = connect_secured()
        equal(rows("SELECT 1"), [(1,)])

    told("tls", tls)


context = ssl.create_default_context(cafile=authority)
if client == "PyMySQL":
    import pymysql

    plain(
        lambda: pymysql.connect(**where),
        lambda: pymysql.connect(**where, ssl=context),
        pymysql.err.Error,
        unbuffered=lambda c: c.cursor(pymysql.cursors.SSCursor),
        number=lambda c: c.thread_id(),
        pooled=lambda: pymysql.connect(**where),
    )
elif client == "mysqlclient":
    import MySQLdb
    import MySQLdb.cursors

    plain(
        lambda: MySQLdb.connect(**where, charset="utf8mb4"),
        lambda: MySQLdb.connect(**where, ssl_mode="VERIFY_IDENTITY", ssl={"ca": authority}),
        MySQLdb.Error,
        unbuffered=lambda c: c.cursor(MySQLdb.cursors.SSCursor),
        number=lambda c: c.thread_id(),
        pooled=lambda: MySQLdb.connect(**where),
    )
elif client == "mysql-connector-python":
    import mysql.connector
    import mysql.connector.pooling

    made = mysql.connector.pooling.MySQLConnectionPool(pool_size=4, **where, ssl_disabled=True)
    plain(
        lambda: mysql.connector.connect(**where, ssl_disabled=True),
        lambda: mysql.connector.connect(**where, ssl_ca=authority, ssl_verify_cert=True, ssl_verify_identity=True),
        mysql.connector.Error,
        unbuffered=lambda c: c.cursor(buffered=False),
        number=lambda c: c.connection_id,
        pooled=made.get_connection,
        prepared=True,
    )
else:
    import pymysql
    import sqlalchemy

    url = f"mysql+pymysql://tester:{key}@{host}:{port}/shop"
    engine = sqlalchemy.create_engine(url)
    secured = sqlalchemy.create_engine(url, connect_args={"ssl": context})

    def introspect():
        about = sqlalchemy.inspect(engine)
        equal(about.get_pk_constraint("docs")["constrained_columns"], ["_id"])
        sqlalchemy.MetaData().reflect(engine)

    docs = sqlalchemy.table("docs", *(sqlalchemy.column(name) for name in ("_id", "title", "price", "n")))

    def rows(query, **options):
        with engine.connect().execution_options(**options) as connection:
            return [tuple(row) for row in connection.execute(query)]

    def parameters():
        equal(rows(sqlalchemy.select(docs.c["_id"]).where(docs.c.title.in_(["grüner Apfel", "none"]))), [(2,)])

    def cursors():
        equal(len(rows(sqlalchemy.text("SELECT range FROM range(2000)"), stream_results=True, max_row_buffer=100)), 2000)

    def cancel():
        with engine.connect() as connection:
            number = connection.connection.driver_connection.thread_id()
            work = lambda: connection.execute(sqlalchemy.text(slow))
            try:
                killed(engine.raw_connection, number, work, pymysql.err.Error)
            except sqlalchemy.exc.OperationalError as error:
                return equal(error.orig.args[0], 1317)
        raise AssertionError("nothing was cancelled")

    def errors():
        try:
            rows(sqlalchemy.text("SELECT nope FROM docs"))
        except sqlalchemy.exc.OperationalError as error:
            return equal(error.orig.args[0], 1054)
        raise AssertionError("an unknown column was found")

    told("connect", lambda: engine.connect().close())
    told("introspect", introspect)
    told("types", lambda: equal(rows(sqlalchemy.select(docs).where(docs.c["_id"] == 1)), [(1, "red apple", 1.5, 1)]))
    for work in (parameters, cursors, cancel, errors):
        told(work.__name__, work)
    told("pool", lambda: equal(in_parallel(lambda i: rows(sqlalchemy.select(sqlalchemy.literal(i)))), [[(i,)] for i in range(4)]))
    told("tls", lambda: secured.connect().close())
print("version", importlib.metadata.version(client))
