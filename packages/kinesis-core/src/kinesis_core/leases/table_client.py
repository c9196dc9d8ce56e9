"""The client of one table in DynamoDB: its creation, with the index of the KCL, and calls with this package's errors."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from typing import Any, TypeVar

from attrs import define, field, frozen

from kinesis_core.aws import (
    CALL_ERRORS,
    MALFORMED,
    RetryBudget,
    RetryPolicy,
    Throttles,
    call_with_retries,
    malformed,
    read_text,
    translate,
)
from kinesis_core.clock import Clock
from kinesis_core.errors import ServiceError, TableLayoutError, TableNotFoundError, UnavailableError
from kinesis_core.leases.lease import LEASE_KEY, LEASE_OWNER
from kinesis_credentials import Advice
from kinesis_credentials.logs import get_logger

OWNER_INDEX = "LeaseOwnerToLeaseKeyIndex"
"""The index in which a worker of the KCL 3 finds the leases that are assigned to it."""


class OwnerIndex(Enum):
    """Which tables get the index by owner."""

    NONE = "none"
    OF_NEW_TABLES = "new tables"
    OF_ALL_TABLES = "all tables"


@frozen
class TableFacts:
    """The facts of a table that DynamoDB reports."""

    status: str
    keys: tuple[str, ...]
    has_key: bool
    """Whether its key is the wanted one, of text."""
    indexes: Mapping[str, str] = field(factory=dict)
    """The status of each index."""
    throughput: Mapping[str, int] | None = None
    """Its capacity in units; None if it is billed by request."""

    @property
    def has_active_index(self) -> bool:
        return self.indexes.get(OWNER_INDEX) in {"ACTIVE", "UPDATING"}


def read_table(facts: Mapping[str, Any]) -> TableFacts:
    """Return the facts of a response to DescribeTable."""
    schema = facts["KeySchema"]
    is_text = _attribute(LEASE_KEY) in facts["AttributeDefinitions"]
    mode = facts.get("BillingModeSummary", {}).get("BillingMode", "PROVISIONED")
    capacity = facts.get("ProvisionedThroughput", {})
    units = {unit: capacity.get(unit, 1) for unit in ("ReadCapacityUnits", "WriteCapacityUnits")}
    return TableFacts(
        read_text(facts, "TableStatus"),
        tuple(read_text(key, "AttributeName") for key in schema),
        schema == KEY_REQUEST["KeySchema"] and is_text,
        {
            read_text(index, "IndexName"): read_text(index, "IndexStatus")
            for index in facts.get("GlobalSecondaryIndexes", ())
        },
        units if mode == "PROVISIONED" else None,
    )


def _attribute(name: str) -> dict[str, str]:
    return {"AttributeName": name, "AttributeType": "S"}


def _keys(**kinds: str) -> list[dict[str, str]]:
    return [{"AttributeName": name, "KeyType": kind} for name, kind in kinds.items()]


KEY_REQUEST = {"KeySchema": _keys(leaseKey="HASH"), "AttributeDefinitions": [_attribute(LEASE_KEY)]}
"""The parameters of a new table."""
_INDEX = {
    "IndexName": OWNER_INDEX,
    "KeySchema": _keys(leaseOwner="HASH", leaseKey="RANGE"),
    "Projection": {"ProjectionType": "KEYS_ONLY"},
}
_INDEX_ATTRIBUTES = [_attribute(LEASE_KEY), _attribute(LEASE_OWNER)]
NEW_INDEX_REQUEST = {
    **KEY_REQUEST,
    "AttributeDefinitions": _INDEX_ATTRIBUTES,
    "GlobalSecondaryIndexes": [_INDEX],
}
"""The parameters of a new table with the index."""


def index_request(table: TableFacts) -> dict[str, Any]:
    """Return the parameters that add the index to *table*. It is billed as the table is."""
    capacity = {} if table.throughput is None else {"ProvisionedThroughput": dict(table.throughput)}
    return {
        "AttributeDefinitions": _INDEX_ATTRIBUTES,
        "GlobalSecondaryIndexUpdates": [{"Create": {**_INDEX, **capacity}}],
    }


CREATION_S = 60.0
"""DynamoDB creates a table in about ten seconds."""
_POLL_S = 1.0
_LOG_S = 30.0
"""How often a long wait has a line in the log."""

log = get_logger("kinesis_core")
T = TypeVar("T")


@define
class TableClient:
    """One table, with a botocore client. Thread-safe."""

    name: str
    client: Any
    policy: RetryPolicy
    clock: Clock
    rng: random.Random
    _budget: RetryBudget = field(factory=RetryBudget, init=False)

    def prepare(self, patience_s: float = CREATION_S, index: OwnerIndex = OwnerIndex.NONE) -> None:
        """
        Check that the table has its key. Create it, billed by request, and *index*, if they are missing. Wait until they are active.

        Other processes may do the same at the same time.

        Raises:
            TableLayoutError: The table has another key.
            ServiceError: DynamoDB refuses, or they do not become active within *patience_s*.
        """
        start_s = logged_s = self.clock.now_s()
        is_new = False
        while True:
            table = self._describe()
            if table is None and not is_new:
                self._create(index)
                is_new = True
            missing = self._advance(table, index)
            if not missing:
                return
            now_s = self.clock.now_s()
            if now_s - start_s >= patience_s:
                raise UnavailableError(
                    f"DynamoDB is still {missing}. It is used as soon as it is active.",
                    code="CREATING",
                    table=self.name,
                )
            if now_s == start_s or now_s - logged_s >= _LOG_S:
                logged_s = now_s
                log.info("table.awaited", table=self.name, reason=missing, waited_s=round(now_s - start_s))
            self.clock.sleep(_POLL_S)

    def call(self, operation: str, call: Callable[[], T], **where: str) -> T:
        """
        Return the result of *call*, one attempt at *operation*. *where* names the item for errors.

        Raises:
            ServiceError: DynamoDB refuses, or its response is malformed.
        """
        where = {"table": self.name, **where}
        try:
            return call()
        except CALL_ERRORS as error:
            raise translate(operation, where, error, "DynamoDB") from error
        except MALFORMED as error:
            raise malformed(operation, where, error, "DynamoDB") from error

    def call_if_met(self, operation: str, call: Callable[[], T], **where: str) -> T | None:
        """Return the result of *call*, a write with a condition; None if the condition is not met. Raises as `call` does."""
        try:
            return self.call(operation, call, **where)
        except ServiceError as error:
            if error.code != "ConditionalCheckFailedException":
                raise
            return None

    def pages(
        self,
        operation: str,
        method: Callable[..., Any],
        read: Callable[[Any], T],
        *,
        with_retries: bool = False,
        **request: Any,
    ) -> Iterator[T]:
        """Yield what *read* makes of the items of all pages of a response. A page has 1 MiB, which is thousands of leases."""
        call = self._call_with_retries if with_retries else self.call

        def get_page() -> tuple[list[T], Any]:
            page = method(TableName=self.name, **request)
            return [read(item) for item in page["Items"]], page.get("LastEvaluatedKey")

        while True:
            items, last = call(operation, get_page)
            yield from items
            if not last:
                return
            request["ExclusiveStartKey"] = last

    def _advance(self, table: TableFacts | None, index: OwnerIndex) -> str:
        """Do what can be done for *table* and *index* now. Returns what DynamoDB is doing yet, or "" if all is there."""
        if table is None:  # all its servers will know a new table in a moment
            return f"creating table {self.name}"
        self._check_key(table)
        if table.status in {"CREATING", "DELETING"}:
            return f"{table.status.lower()} table {self.name}"
        if index is OwnerIndex.NONE or table.has_active_index:
            return ""
        if OWNER_INDEX not in table.indexes:
            if index is OwnerIndex.OF_NEW_TABLES:
                return ""
            self._add_index(table)
        return f"creating index {OWNER_INDEX} of table {self.name}"

    def _describe(self) -> TableFacts | None:
        try:
            return self._call_with_retries(
                "DescribeTable",
                lambda: read_table(self.client.describe_table(TableName=self.name)["Table"]),
            )
        except TableNotFoundError:
            return None

    def _create(self, index: OwnerIndex) -> None:
        request = KEY_REQUEST if index is OwnerIndex.NONE else NEW_INDEX_REQUEST
        try:
            self._call_with_retries(
                "CreateTable",
                lambda: self.client.create_table(
                    TableName=self.name, BillingMode="PAY_PER_REQUEST", **request
                ),
            )
        except ServiceError as error:
            if error.code != "ResourceInUseException":  # another process has created it
                raise
        else:
            log.info("table.created", table=self.name)

    def _add_index(self, table: TableFacts) -> None:
        """Ask for the index. A later attempt follows where the table is busy, or another process has asked for it."""
        try:
            self.call(
                "UpdateTable",
                lambda: self.client.update_table(TableName=self.name, **index_request(table)),
            )
        except ServiceError as error:
            if error.retryable or error.code == "ResourceInUseException":
                return
            found = self._describe()
            if found is None or OWNER_INDEX not in found.indexes:
                raise
        else:
            log.info("index.created", table=self.name, index=OWNER_INDEX)

    def _check_key(self, table: TableFacts) -> None:
        if not table.has_key:
            raise TableLayoutError(
                f"The key of the table is {', '.join(table.keys)}; that of a lease table is {LEASE_KEY}, a string.",
                table.keys,
                advice=Advice.NAME_ANOTHER_TABLE,
                table=self.name,
            )

    def _call_with_retries(self, operation: str, call: Callable[[], T]) -> T:
        return call_with_retries(
            operation,
            lambda: self.call(operation, call),
            self.policy,
            self.clock,
            self.rng,
            self._budget,
            throttles=Throttles.COUNTED,  # a query waits for this, and needs no leases
            table=self.name,
        )
