"""Flight SQL with ADBC for Python: flight.py host:port namespace"""
import datetime
import decimal
import sys

import adbc_driver_flightsql as flight
import adbc_driver_flightsql.dbapi as dbapi
import pyarrow

target, namespace = sys.argv[1:]
header = flight.DatabaseOptions.RPC_CALL_HEADER_PREFIX.value + "namespace"
connection = dbapi.connect(
    f"grpc://{target}", db_kwargs={"username": "any", "password": "any", header: namespace}, autocommit=True
)


def rows(query, parameters=None):
    with connection.cursor() as cursor:
        cursor.execute(query, parameters=parameters)
        return cursor.fetchall()


def refused(query, words):
    try:
        rows(query)
    except dbapi.Error as error:
        assert words in str(error), error
    else:
        raise AssertionError(f"{query} should have failed")


made = datetime.datetime(2024, 2, 29, tzinfo=datetime.timezone.utc)
assert rows("select _id, tag, price, made, v from docs order by _id") == [
    (1, "a", 1.5, made, [1.0, 0.0]),
    (2, "b", None, None, None),
]
assert rows("select _id from docs where tag = ? and _id < ?", ("b", 5)) == [(2,)]
assert rows("select _id from docs where made = ?", (made,)) == [(1,)]
assert rows("select price from docs where price > ?", (decimal.Decimal("1.25"),)) == [(1.5,)]

with connection.cursor() as cursor:
    cursor.execute(
        "select 1::tinyint a, 2::hugeint b, 1.25::decimal(10,2) c, date '2024-02-29' d, time '01:02:03' e,"
        " [1,2,null] f, {'x': 1} g, map {'k': 1} h, '\\x01'::blob i, true j, interval '1 month' k"
    )
    (row,) = cursor.fetch_arrow_table().to_pylist()
    assert row["b"] == 2 and row["c"] == decimal.Decimal("1.25") and row["d"] == datetime.date(2024, 2, 29), row
    assert row["e"] == datetime.time(1, 2, 3) and row["f"] == [1, 2, None] and row["g"] == {"x": 1}, row
    assert row["h"] == [("k", 1)] and row["i"] == b"\x01" and row["j"] is True and row["k"].months == 1, row
    cursor.execute("select i, 'row ' || i as t from range(300000) r(i)")
    table = cursor.fetch_arrow_table()
    table.validate(full=True)
    assert table.num_rows == 300000

catalogs = connection.adbc_get_objects(depth="tables").read_all().to_pylist()
assert [each["catalog_name"] for each in catalogs] == [namespace], catalogs
schema = connection.adbc_get_table_schema("docs", db_schema_filter="collections")
assert schema.field("v").type == pyarrow.list_(pyarrow.float32(), 2), schema
assert connection.adbc_get_info()["vendor_name"] == "native-engine"
assert connection.adbc_get_table_types() == ["TABLE"]
refused("insert into docs values (1)", "query: ")
refused("select * from nothing", "nothing")
connection.close()
print(f"Flight SQL with ADBC for Python {flight.__version__}, pyarrow {pyarrow.__version__}")
