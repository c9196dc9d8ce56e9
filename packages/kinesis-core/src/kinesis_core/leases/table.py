"""
The lease table of a query in DynamoDB. It is created if it is missing, written to, and never read. The table of a KCL application is
read once, where a query starts.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from attrs import define

from kinesis_core.aws import Connection, tables_client
from kinesis_core.clock import Clock, SystemClock
from kinesis_core.leases.attributes import Value
from kinesis_core.leases.expressions import condition_request, update_request
from kinesis_core.leases.items import checkpoint_attributes, commit_time, shard_attributes
from kinesis_core.leases.lease import LEASE_KEY, LEASE_OWNER, Lease
from kinesis_core.leases.table_client import TableClient

READ_TIMEOUT_S = 5.0
"""DynamoDB responds within milliseconds, and a query waits for the response."""


@define
class LeaseTable(TableClient):
    """One table, with a botocore client. Thread-safe."""

    def scan(self) -> list[dict[str, Any]]:
        """
        Return all items, in DynamoDB's JSON.

        Raises:
            ServiceError: The table does not exist, or DynamoDB refuses.
        """
        return list(self.pages("Scan", self.client.scan, dict, with_retries=True, ConsistentRead=True))

    def write(self, lease: Lease, *, may_create: bool = True) -> bool:
        """
        Write *lease*, and increment its counter. Returns whether it was written.

        A lease that another consumer owns is left alone: its checkpoint belongs to that consumer. Without *may_create*, so is one
        that is absent.

        Raises:
            ServiceError: DynamoDB refuses. The call is not retried here.
        """
        at_ms = lease.committed_ms
        attributes = {
            **checkpoint_attributes(lease.checkpoint),
            **({} if at_ms is None else commit_time(lease.checkpoint, at_ms)),
            **shard_attributes(lease),
        }
        expected: dict[str, Value | None] = {LEASE_OWNER: None}
        if not may_create:
            expected[LEASE_KEY] = lease.key
        return self.update(lease.key, update_request(expected, attributes, add={"leaseCounter": 1}))

    def has(self, key: str) -> bool:
        """
        Return whether the table has the lease *key*.

        An update that changes nothing tells it: so a query that publishes needs no permission to read the table.

        Raises:
            ServiceError: DynamoDB refuses. The call is not retried here.
        """
        return self.update(key, condition_request({LEASE_KEY: key}))

    def update(self, key: str, request: Mapping[str, Any]) -> bool:
        """
        Update an item. Returns whether the condition of *request* was met.

        Raises:
            ServiceError: DynamoDB refuses. The call is not retried here.
        """
        response = self.call_if_met(
            "UpdateItem",
            lambda: self.client.update_item(TableName=self.name, Key={LEASE_KEY: {"S": key}}, **request),
            lease=key,
        )
        return response is not None


def open_table(
    connection: Connection,
    name: str,
    endpoint_url: str | None = None,
    clock: Clock | None = None,
    *,
    region: str | None = None,
) -> LeaseTable:
    """
    Return a client of table *name* with the credentials of *connection*, by default in its region. Makes no call.

    Raises:
        CredentialsError: There are no credentials.
    """
    client = tables_client(connection, endpoint_url, READ_TIMEOUT_S, region=region)
    rng = random.Random()  # noqa: S311 # jitter, not a secret
    return LeaseTable(name, client, connection.retry, clock or SystemClock(), rng)
