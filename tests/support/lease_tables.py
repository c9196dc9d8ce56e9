"""
DynamoDB with lease tables: moto behind a proxy that counts and refuses calls, and a reader of leases like the KCL's.
"""

from __future__ import annotations

import json
import threading
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from typing import Any

import botocore.session
from attrs import define, field, frozen

from support.streams import REGION, SECRET
from support.witness import Wsgi, moto

OBSERVER = "AKIAOBSERVER"
"""The key id of calls that the test itself makes. They are neither counted nor refused."""


@define
class DynamoDb:
    """A DynamoDB with a table name of its own, because the tables of moto outlive its servers."""

    endpoint_url: str = field(init=False)
    client: Any = field(init=False)
    table: str = field(init=False, factory=lambda: f"leases-{uuid.uuid4().hex[:8]}")
    calls: Counter[str] = field(factory=Counter)
    """Number of calls of each operation."""
    updates: Counter[str] = field(factory=Counter)
    """Number of calls of UpdateItem by the key of the item."""
    refuse: dict[str, str] = field(factory=dict)
    """Error codes by operation."""
    _lock: threading.Lock = field(factory=threading.Lock)

    def options(self, **more: Any) -> dict[str, Any]:
        """Return the options of a source that publishes to this table, with the names of the awslabs connector."""
        return {
            "kinesis.metadataCommitterType": "DYNAMODB",
            "kinesis.dynamodb.tableName": self.table,
            "dynamodbEndpointUrl": self.endpoint_url,
            **more,
        }

    def leases(self, table: str | None = None) -> dict[str, KclLease]:
        """Return the leases in the table by key, as the KCL reads them."""
        items = self.client.scan(TableName=table or self.table, ConsistentRead=True)["Items"]
        return {lease.key: lease for lease in map(read_lease, items)}

    def put_item(self, item: dict[str, Any]) -> None:
        self.client.put_item(TableName=self.table, Item=item)

    def create_table(self, **keys: str) -> None:
        """Create the table. *keys* are the attributes of its key, each HASH or RANGE."""
        self.client.create_table(
            TableName=self.table,
            KeySchema=[{"AttributeName": name, "KeyType": kind} for name, kind in keys.items()],
            AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in keys],
            BillingMode="PAY_PER_REQUEST",
        )

    def stand_before(self, application: Wsgi) -> Wsgi:
        def front(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
            if OBSERVER in environ.get("HTTP_AUTHORIZATION", ""):
                return application(environ, start_response)
            operation = environ.get("HTTP_X_AMZ_TARGET", "").rpartition(".")[2]
            body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
            environ["wsgi.input"] = BytesIO(body)
            with self._lock:
                self.calls[operation] += 1
                if operation == "UpdateItem":
                    self.updates.update(typed["S"] for typed in json.loads(body)["Key"].values())
                code = self.refuse.get(operation)
            if code is None:
                return application(environ, start_response)
            refusal = {"__type": f"com.amazonaws#{code}", "message": "Refused by the test."}
            status = "500 Internal Server Error" if code == "InternalServerError" else "400 Bad Request"
            start_response(status, [("Content-Type", "application/x-amz-json-1.0")])
            return [json.dumps(refusal).encode()]

        return front


@contextmanager
def dynamodb() -> Iterator[DynamoDb]:
    """Yield a running DynamoDB."""
    server = DynamoDb()
    with moto(server.stand_before) as endpoint_url:
        server.endpoint_url = endpoint_url
        server.client = botocore.session.get_session().create_client(
            "dynamodb",
            endpoint_url=endpoint_url,
            region_name=REGION,
            aws_access_key_id=OBSERVER,
            aws_secret_access_key=SECRET,
        )
        server.client.list_tables()  # moto imports its DynamoDB with the first call, which takes seconds
        yield server


def kcl_lease(key: str, checkpoint: str, sub_sequence_number: int = 0, **more: Any) -> dict[str, Any]:
    """Return the item of a lease as a KCL writes it. *more* are attributes in DynamoDB's JSON."""
    return {
        "leaseKey": {"S": key},
        "leaseCounter": {"N": "7"},
        "ownerSwitchesSinceCheckpoint": {"N": "0"},
        "checkpoint": {"S": checkpoint},
        "checkpointSubSequenceNumber": {"N": str(sub_sequence_number)},
        **more,
    }


@frozen
class KclLease:
    """A lease as the KCL reads it from an item."""

    key: str
    owner: str | None
    counter: int
    owner_switches: int
    checkpoint: str
    sub_sequence_number: int
    parents: frozenset[str]
    children: frozenset[str]
    hash_range: tuple[int, int] | None


_KNOWN = {
    "leaseKey": "S",
    "leaseOwner": "S",
    "leaseCounter": "N",
    "ownerSwitchesSinceCheckpoint": "N",
    "checkpoint": "S",
    "checkpointSubSequenceNumber": "N",
    "parentShardId": "SS",
    "childShardIds": "SS",
    "startingHashKey": "S",
    "endingHashKey": "S",
    "streamName": "S",
    "shardId": "S",
}
"""
The attributes of a lease that the KCL knows, with their types in DynamoDB.

Source: DynamoDBLeaseSerializer and DynamoDBMultiStreamLeaseSerializer in github.com/awslabs/amazon-kinesis-client
"""
_IGNORED = {"streamIdentifier": "S", "committedAt": "S"}
"""Attributes of this project in leases that a query publishes. The KCL ignores what it does not know, and keeps it."""


def read_lease(item: Mapping[str, Mapping[str, Any]]) -> KclLease:
    """Return the lease in *item*. Fails for an attribute that the KCL refuses or does not know."""
    values: dict[str, Any] = {}
    for name, typed in item.items():
        [(kind, value)] = typed.items()
        if _IGNORED.get(name) == kind:
            continue
        assert (name, kind) == (name, _KNOWN.get(name)), f"the KCL does not know {name} as {kind}"
        values[name] = int(value) if kind == "N" else value
    has_hash_range = "startingHashKey" in values and "endingHashKey" in values
    return KclLease(
        key=values["leaseKey"],
        owner=values.get("leaseOwner"),
        counter=values["leaseCounter"],
        owner_switches=values["ownerSwitchesSinceCheckpoint"],
        checkpoint=_read_checkpoint(values["checkpoint"]),
        sub_sequence_number=values["checkpointSubSequenceNumber"],
        parents=frozenset(values.get("parentShardId", ())),
        children=frozenset(values.get("childShardIds", ())),
        hash_range=(int(values["startingHashKey"]), int(values["endingHashKey"])) if has_hash_range else None,
    )


def _read_checkpoint(text: str) -> str:
    """Return *text* if the KCL's ExtendedSequenceNumber accepts it: one of its words, or digits."""
    assert text in {"TRIM_HORIZON", "LATEST", "AT_TIMESTAMP", "SHARD_END"} or text.isdigit(), text
    return text
