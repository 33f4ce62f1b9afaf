"""A client of native-engine: durable streams, hybrid search and SQL."""

from ._async.client import AsyncClient
from ._async.collection import AsyncCollectionClient
from ._async.namespace import AsyncNamespaceClient
from ._async.stream import AsyncStreamClient
from ._error import ServiceError
from ._options import Call, RetryOptions
from ._session import ConsistencyToken, Session, TokenEntry
from ._sync.client import Client
from ._sync.collection import CollectionClient
from ._sync.namespace import NamespaceClient
from ._sync.stream import StreamClient
from ._types import (
    EventPage,
    From,
    NewRecord,
    RecordFormat,
    RecordPage,
    StoredHeader,
    StoredRecord,
    Timestamp,
)

__all__ = [
    "AsyncClient",
    "AsyncCollectionClient",
    "AsyncNamespaceClient",
    "AsyncStreamClient",
    "Call",
    "Client",
    "CollectionClient",
    "ConsistencyToken",
    "EventPage",
    "From",
    "NamespaceClient",
    "NewRecord",
    "RecordFormat",
    "RecordPage",
    "RetryOptions",
    "ServiceError",
    "Session",
    "StoredHeader",
    "StoredRecord",
    "StreamClient",
    "Timestamp",
    "TokenEntry",
]
