from __future__ import annotations

import asyncio
import importlib.metadata
import json
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from conftest import ROOT, Server
from native_engine import AsyncClient, Client, NamespaceClient, RetryOptions, ServiceError, Timestamp


def test_version_is_the_servers() -> None:
    version = json.loads((ROOT / "package.json").read_text())["version"]
    assert importlib.metadata.version("native-engine-client") == version


def test_blocking_client_is_in_step() -> None:
    script = Path(__file__).parents[1] / "unasync.py"
    assert subprocess.run([sys.executable, script, "--check"]).returncode == 0


def test_instance(client: Client) -> None:
    client.health()
    client.ready()
    assert client.instance()["serverVersion"]
    assert client.who_am_i()["principal"]["id"] == "dev-loopback"


def test_streams(ns: NamespaceClient) -> None:
    ns.create_stream("s", partitions=2, retention={"max_bytes": 1 << 20})
    stream = ns.stream("s")
    assert [each["name"] for each in ns.streams()] == ["s"]
    assert stream.get()["retention"]["max_bytes"] == 1 << 20
    assert stream.set_retention(None)["retention"] == {"max_age_ms": None, "max_bytes": None}
    reply = stream.append(0, [{"key": "ada", "value": b"\xff\x00", "headers": [{"key": "h", "value": "v"}]}, {}])
    assert (reply["base_offset"], reply["last_offset"]) == (0, 1)
    page = stream.fetch(from_=0)
    assert (page.next_offset, page.high_watermark, page.log_start_offset) == (2, 2, 0)
    first, second = page.records
    assert (first.key, first.value, first.headers[0].value) == (b"ada", b"\xff\x00", b"v")
    assert (second.key, second.value, second.headers) == (None, None, ())
    assert [record.offset for record in stream.read()] == [0, 1]
    assert [record.offset for record in stream.read(from_=Timestamp(first.timestamp_ms), to=1)] == [0]
    routed = stream.append_by_key([{"key": "a", "value": "1"}, {"key": "b", "value": "2"}])
    assert sum(each["last_offset"] - each["base_offset"] + 1 for each in routed["appends"]) == 2
    stream.delete()
    assert ns.streams() == []


def test_formats(ns: NamespaceClient) -> None:
    ns.create_stream("s")
    stream = ns.stream("s")
    values = [{"a": [1, None, "ü"]}, "text", 3, None, b"\xff"]
    stream.append(0, [{"key": "k", "value": value} for value in values], format="json")
    assert [record.value for record in stream.fetch(from_=0, format="json").records] == values
    stream.append(0, [{"value": "plain"}, {"value": b"\xff"}], format="text")
    assert [record.value for record in stream.read(from_=5, format="text")] == ["plain", b"\xff"]
    assert stream.fetch(from_=0).records[0].value == '{"a":[1,null,"ü"]}'.encode()


def test_conditions_and_keys(ns: NamespaceClient) -> None:
    ns.create_stream("s")
    stream = ns.stream("s")
    first = stream.append(0, [{"value": "x"}], idempotency_key="k")
    assert stream.append(0, [{"value": "x"}], idempotency_key="k") == first
    with pytest.raises(ServiceError) as refused:
        stream.append(0, [{"value": "y"}], match_offset=5)
    assert (refused.value.reason, refused.value.status) == ("conflict", 409)
    assert refused.value.details["high_watermark"] == 1


def test_events_and_links(ns: NamespaceClient) -> None:
    ns.create_stream("s")
    stream = ns.stream("s")
    event = {"specversion": "1.0", "id": "1", "source": "/t", "type": "t", "partitionkey": "ada", "data": {"n": 1}}
    assert stream.append_events([event])["events"][0]["status"] == "appended"
    assert stream.append_events([event])["events"][0]["status"] == "duplicate"
    page = stream.fetch_events(from_=0)
    assert (page.events[0]["data"], page.next_offset) == ({"n": 1}, 1)
    ns.create_link("counts", "s", options={"amount": "one"})
    assert [link["name"] for link in ns.links()] == ["counts"]
    for _ in range(200):
        if ns.link("counts")["counters"] == {"ada": 1}:
            break
        threading.Event().wait(0.05)
    else:
        raise AssertionError(ns.link("counts"))
    ns.delete_link("counts")


def test_tails(ns: NamespaceClient) -> None:
    ns.create_stream("s", partitions=3)
    stream = ns.stream("s")
    for partition in range(3):
        stream.append(partition, [{"value": str(partition)}])
    seen = set()
    for record in stream.tail(from_="start"):
        seen.add((record.partition, record.value))
        if len(seen) == 3:
            break
    assert seen == {(0, b"0"), (1, b"1"), (2, b"2")}
    with pytest.raises(ServiceError) as missing:
        next(stream.tail(partition=9, from_="start"))
    assert missing.value.reason == "not_found"


def books(ns: NamespaceClient) -> None:
    ns.create_collection(
        "books",
        {
            "fields": [{"name": "title", "kind": "text"}, {"name": "year", "kind": "i64"}],
            "vectors": [{"name": "v", "dim": 2, "distance": "cosine"}],
        },
    )
    source = [("The tide tables", 1987, [1, 0]), ("Tides and moons", 2003, [0.9, 0.3]), ("A garden", 1999, [0, 1])]
    ns.collection("books").write(
        {"upsert": {"id": at + 1, "source": {"title": title, "year": year}, "vectors": {"v": vector}}}
        for at, (title, year, vector) in enumerate(source)
    )


def test_collections(ns: NamespaceClient) -> None:
    books(ns)
    collection = ns.collection("books")
    document = collection.get(1)
    assert document is not None and document["source"]["year"] == 1987
    assert collection.get(9) is None
    assert [each and each["id"] for each in collection.get_many([3, 9, 1])] == [3, None, 1]
    assert collection.count() == 3
    assert collection.count({"range": {"year": {"gt": 1990}}}) == 2
    assert [each["id"] for each in collection.scroll(page_size=2)] == [1, 2, 3]
    reply = ns.query(
        {
            "from": "books",
            "retrieve": [{"text": {"field": "title", "query": "tides"}}, {"vector": {"field": "v", "query": [1, 0.2]}}],
            "limit": 1,
        }
    )
    assert [row["_id"] for row in reply["rows"]] == [2]
    assert len(ns.queries([{"from": "books"}, {"from": "books", "limit": 1}])) == 2
    assert collection.patch_by_filter({"term": {"year": 1999}}, {"source": {"year": 2000}}) == 1
    assert collection.delete_by_filter({"term": {"year": 2000}}) == 1
    ns.update_aliases([{"add": {"alias": "b", "collection": "books"}}])
    assert ns.aliases() == [{"alias": "b", "collection": "books"}]
    assert ns.collection("b").info()["name"] == "books"
    assert [each["name"] for each in ns.collections()] == ["books"]
    collection.drop()
    with pytest.raises(ServiceError, match="not_found"):
        collection.get(1)


def test_sql(ns: NamespaceClient) -> None:
    books(ns)
    assert ns.sql("SELECT count(*) AS n FROM books WHERE year > ?", [1990])["rows"] == [{"n": 2}]
    table = ns.sql_arrow("SELECT _id, title, v FROM books ORDER BY _id")
    assert table.column("title").to_pylist() == ["The tide tables", "Tides and moons", "A garden"]
    assert ns.sql_pandas("SELECT year FROM books WHERE _id = ?", [1])["year"].tolist() == [1987]
    assert ns.sql_polars("SELECT max(year) AS y FROM books")["y"].to_list() == [2003]
    with pytest.raises(ServiceError) as wrong:
        ns.sql("SELECT nothing FROM books")
    assert wrong.value.reason == "invalid_argument"
    with pytest.raises(ServiceError) as wrong:
        ns.sql_arrow("SELECT nothing FROM books")
    assert wrong.value.reason == "invalid_argument"


def test_errors_and_sessions(client: Client, ns: NamespaceClient) -> None:
    with pytest.raises(ServiceError) as refused:
        ns.create_stream("bad name")
    error = refused.value
    assert (error.reason, error.code, error.status, error.field) == ("invalid_argument",) * 2 + (400, "name")
    assert error.request_id
    ns.create_stream("s")
    ns.stream("s").append(0, [{}])
    with Client(client.url, token=client.session.token) as other:
        assert other.session.token == client.session.token


def test_async(server: Server) -> None:
    async def run() -> None:
        async with AsyncClient(server.url) as client:
            await client.create_namespace("asynchronous")
            ns = client.namespace("asynchronous")
            await ns.create_stream("s", partitions=2)
            stream = ns.stream("s")

            async def write() -> None:
                for at in range(10):
                    await stream.append(at % 2, [{"value": at}], format="json")

            writing = asyncio.create_task(write())
            seen = []
            async for record in stream.tail(from_="start", format="json"):
                seen.append(record.value)
                if len(seen) == 10:
                    break
            await writing
            assert sorted(seen) == list(range(10))
            await ns.create_collection("c", {"fields": [{"name": "t", "kind": "text"}]})
            await ns.collection("c").write([{"upsert": {"id": 1, "source": {"t": "x"}}}])
            assert [each["id"] async for each in ns.collection("c").scroll()] == [1]
            assert (await ns.sql_arrow("SELECT count(*) AS n FROM c")).to_pylist() == [{"n": 1}]

    asyncio.run(run())


def test_writes_survive_a_killed_server(tmp_path: Path) -> None:
    server = Server(str(tmp_path))
    try:
        waits: list[str] = []
        # A start takes as long as the machine lets it.
        patient = RetryOptions(attempts_max=1_000, wait_ms_max=500)
        with Client(server.url, retry=patient, on_retry=lambda error, _: waits.append(error.reason)) as client:
            client.create_namespace("n")
            ns = client.namespace("n")
            ns.create_stream("s")
            tail = ns.stream("s").tail(partition=0, from_="start", format="json")
            ns.stream("s").append(0, [{"value": 0}], format="json")
            assert next(tail).value == 0
            server.kill()
            again = threading.Timer(0.5, server.start)
            again.start()
            ns.stream("s").append(0, [{"value": 1}], format="json")
            again.join()
            assert next(tail).value == 1
            assert waits and set(waits) == {"unavailable"}
            assert [record.value for record in ns.stream("s").read(format="json")] == [0, 1]
    finally:
        server.kill()


def test_a_lost_answer_is_asked_for_again_under_the_same_key() -> None:
    keys: list[str | None] = []

    class Losing(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            keys.append(self.headers["idempotency-key"])
            if len(keys) < 3:
                self.connection.close()
                return
            body = b'{"base_offset":0,"last_offset":0,"token":[{"stream":1,"partition":0,"offset":0}]}'
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Losing) as proxy:
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{proxy.server_port}"
        with Client(url, retry=RetryOptions(wait_ms=1)) as client:
            client.namespace("n").stream("s").append(0, [{}])
            assert len(keys) == 3 and len(set(keys)) == 1
            assert client.session.token == [{"stream": 1, "partition": 0, "offset": 0}]
            keys.clear()
            # Not known to be safe to repeat.
            with pytest.raises(ServiceError) as lost:
                client.create_namespace("n")
            assert (lost.value.reason, len(keys)) == ("unavailable", 1)
        proxy.shutdown()


def test_credentials(tmp_path: Path) -> None:
    key = "k" * 40
    server = Server(str(tmp_path), SERVICE_AUTH_MODE="apikey", SERVICE_API_KEYS=f"boss:admin:{key}")
    try:
        with Client(server.url) as client, pytest.raises(ServiceError) as refused:
            client.namespaces()
        assert refused.value.reason == "unauthenticated"
        with Client(server.url, api_key=lambda: key) as client:
            client.create_namespace("n")
            assert client.namespace("n").sql_arrow("SELECT 1 AS one").to_pylist() == [{"one": 1}]
            made = client.create_key("till", "reader", namespace="n", lifetime_ms=60_000)
            with Client(server.url, api_key=made["key"]) as till:
                assert till.namespace("n").streams() == []
                with pytest.raises(ServiceError) as denied:
                    till.namespace("n").set_quota()
                assert denied.value.reason == "permission_denied"
            both = client.create_key("both", "reader", namespaces=["n", "m"])
            assert (both["namespace"], both["namespaces"]) == (None, ["m", "n"])
            assert [each["name"] for each in client.keys()] == ["both", "till"]
            assert client.revoke_key("till")["status"] == "revoked"
    finally:
        server.kill()


def test_quotas(ns: NamespaceClient) -> None:
    ns.create_stream("s")
    assert ns.quota() == {"max_bytes": None, "max_requests_per_second": None, "used_bytes": 0}
    assert ns.set_quota(max_bytes=100, max_requests_per_second=1000)["max_bytes"] == 100
    # Not tried again and again: nothing says when there will be room.
    with pytest.raises(ServiceError) as full:
        ns.stream("s").append(0, [{"value": b"x" * 1000}])
    assert (full.value.reason, full.value.details["quota"]) == ("resource_exhausted", "max_bytes")
    assert ns.set_quota()["max_bytes"] is None
    ns.stream("s").append(0, [{"value": b"x" * 1000}])
