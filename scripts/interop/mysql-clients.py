"""Asks the MySQL wire with Python's clients: mysql-clients.py CLIENT HOST PORT. A line for each thing that it tries."""

import importlib.metadata
import os
import ssl
import sys

client, host, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
key, authority = os.environ["INTEROP_KEY"], os.environ["INTEROP_CA"]
where = {"host": host, "port": port, "user": "tester", "password": key, "database": "shop"}


def told(what, work):
    try:
        work()
        print(what, "ok", flush=True)
    except Exception as error:
        print(what, "no", type(error).__name__, " ".join(str(error).split())[:300], flush=True)


def equal(found, wanted):
    assert found == wanted, f"{found} is not {wanted}"


def plain(connect, connect_secured, fault, **cursor):
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

    mark = "?" if cursor.get("prepared") else "%s"
    told("connect", opened)
    told("types", lambda: equal(rows("SELECT _id, title, price, n FROM docs WHERE _id = 1"), [(1, "red apple", 1.5, 1)]))
    told("parameters", lambda: equal(rows(f"SELECT _id FROM docs WHERE title = {mark}", ("grüner Apfel",)), [(2,)]))
    told("introspect", lambda: equal(rows("SHOW TABLES")[0], ("docs",)))
    told("errors", errors)

    def tls():
        state["c"] = connect_secured()
        equal(rows("SELECT 1"), [(1,)])

    told("tls", tls)


context = ssl.create_default_context(cafile=authority)
if client == "PyMySQL":
    import pymysql

    plain(lambda: pymysql.connect(**where), lambda: pymysql.connect(**where, ssl=context), pymysql.err.Error)
elif client == "mysqlclient":
    import MySQLdb

    plain(
        lambda: MySQLdb.connect(**where, charset="utf8mb4"),
        lambda: MySQLdb.connect(**where, ssl_mode="VERIFY_IDENTITY", ssl={"ca": authority}),
        MySQLdb.Error,
    )
elif client == "mysql-connector-python":
    import mysql.connector

    plain(
        lambda: mysql.connector.connect(**where, ssl_disabled=True),
        lambda: mysql.connector.connect(**where, ssl_ca=authority, ssl_verify_cert=True, ssl_verify_identity=True),
        mysql.connector.Error,
        prepared=True,
    )
else:
    import sqlalchemy

    url = f"mysql+pymysql://tester:{key}@{host}:{port}/shop"
    engine = sqlalchemy.create_engine(url)
    secured = sqlalchemy.create_engine(url, connect_args={"ssl": context})

    def introspect():
        about = sqlalchemy.inspect(engine)
        equal(about.get_pk_constraint("docs")["constrained_columns"], ["_id"])
        sqlalchemy.MetaData().reflect(engine)

    told("connect", lambda: engine.connect().close())
    told("introspect", introspect)
    told("tls", lambda: secured.connect().close())
print("version", importlib.metadata.version(client))
