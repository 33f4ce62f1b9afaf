"""Asks the Postgres wire with psycopg: types in both formats, parameters, cursors, a pipeline, cancelling."""

import datetime
import decimal
import sys
import threading
import uuid

import psycopg

host, port = sys.argv[1:3]
connection = psycopg.connect(host=host, port=port, user="tester", dbname="shop", autocommit=True)


def rows(query, values=None, binary=False):
    with connection.cursor(binary=binary) as cursor:
        return cursor.execute(query, values).fetchall()


instant = datetime.datetime(2024, 2, 29, 12, 34, 56, 789000, tzinfo=datetime.timezone.utc)
given = (
    True, -7, 2**40, 1.5, decimal.Decimal("12.34"), "naïve", datetime.date(2024, 2, 29),
    instant, b"\x00\xff", uuid.UUID(int=15), datetime.timedelta(days=1, seconds=3), [1, 2, None], None,
)
casts = ("bool", "int", "bigint", "double", "decimal(10,2)", "text", "date", "timestamptz", "bytea", "uuid",
         "interval", "int[]", "text")
query = "select " + ", ".join(f"%s::{cast}" for cast in casts)
for binary in (False, True):
    assert rows(query, given, binary) == [given], rows(query, given, binary)
    assert rows("select v from items where _id = %s", (1,), binary) == [([1.0, 0.0, 0.5],)]
    numbers = rows("select 0::decimal(5,2), -0.001::decimal(9,4), 10000::decimal(9,0), 2::hugeint ** 100", None, binary)
    assert [str(number) for number in numbers[0][:3]] == ["0.00", "-0.0010", "10000"], numbers

# The fifth run of a statement is the first that is prepared on the server.
for _ in range(8):
    assert rows("select title from items where _id = %s", (2,)) == [("blue hat",)]
assert rows("select _id from items where _id = any(%s) order by 1", ([3, 1],)) == [(1,), (3,)]

with connection.transaction():
    with connection.cursor("named") as cursor:
        cursor.itersize = 100
        cursor.execute("select i from range(1000) t(i)")
        assert sum(row[0] for row in cursor) == 499500

with connection.pipeline():
    first = connection.execute("select 1")
    second = connection.execute("select %s::int", (2,))
    assert (first.fetchone(), second.fetchone()) == ((1,), (2,))

try:
    rows("select nope from items")
    raise AssertionError("a column that is not there was found")
except psycopg.errors.UndefinedColumn as error:
    assert error.diag.statement_position == "8"

timer = threading.Timer(0.3, connection.cancel)
timer.start()
try:
    rows("select count(*) from range(100000000000) a where a.range %% 7 = 3", ())
    raise AssertionError("nothing was cancelled")
except psycopg.errors.QueryCanceled:
    pass
assert rows("select 1") == [(1,)]
