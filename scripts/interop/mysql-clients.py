"""Asks the MySQL wire with Python's clients: mysql-clients.py CLIENT HOST PORT. A line for each thing that it tries."""

import importlib.metadata
import sys

client, host, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
where = {"host": host, "port": port, "user": "tester", "password": "any", "database": "shop"}


def told(what, work):
    try:
        work()
        print(what, "ok", flush=True)
    except Exception as error:
        print(what, "no", type(error).__name__, " ".join(str(error).split())[:300], flush=True)


def equal(found, wanted):
    assert found == wanted, f"{found} is not {wanted}"


def plain(connect, fault, **cursor):
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


if client == "PyMySQL":
    import pymysql

    plain(lambda: pymysql.connect(**where), pymysql.err.Error)
elif client == "mysql-connector-python":
    import mysql.connector

    plain(lambda: mysql.connector.connect(**where), mysql.connector.Error, prepared=True)
else:
    import sqlalchemy

    engine = sqlalchemy.create_engine(f"mysql+pymysql://tester:any@{host}:{port}/shop")

    def introspect():
        about = sqlalchemy.inspect(engine)
        equal(about.get_pk_constraint("docs")["constrained_columns"], ["_id"])
        sqlalchemy.MetaData().reflect(engine)

    told("connect", lambda: engine.connect().close())
    told("introspect", introspect)
print("version", importlib.metadata.version(client))
