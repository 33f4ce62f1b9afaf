"""A real server for all tests: `SERVICE_URL`, or the command of the checkout that this folder is a part of."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from native_engine import Client, NamespaceClient

ROOT = Path(__file__).resolve().parents[3]


class Server:
    """The server as a process that tests can end and start again on the same data and port."""

    def __init__(self, data: str, **env: str) -> None:
        self.data = data
        self.env = env
        self.url = ""
        self.start("127.0.0.1:0")

    def start(self, listen: str | None = None) -> None:
        clean = {name: value for name, value in os.environ.items() if not name.startswith("SERVICE_")}
        off = {f"SERVICE_{wire}_LISTEN": "off" for wire in ("POSTGRES", "MYSQL", "LIVE")}
        self.process = subprocess.Popen(
            [ROOT / "bin/native-engine", "serve", "--listen", listen or self.url.removeprefix("http://")],
            env={**clean, **off, "SERVICE_DATA_DIR": self.data, **self.env},
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        for line in self.process.stdout:
            entry = json.loads(line)
            if "url" in entry:
                self.url = entry["url"]
                return
        raise AssertionError("the server ended before it listened")

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    with tempfile.TemporaryDirectory() as data:
        server = Server(data)
        yield server
        server.kill()


@pytest.fixture
def client(server: Server) -> Iterator[Client]:
    with Client(server.url) as client:
        yield client


@pytest.fixture
def ns(client: Client) -> NamespaceClient:
    name = f"n{uuid.uuid4().hex[:8]}"
    client.create_namespace(name)
    return client.namespace(name)
