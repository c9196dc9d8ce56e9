"""
Deletes what runs have made, and nothing else.

A resource is deleted only if it carries the tag of the run that its name belongs to. Tags are set by the call that creates it, so
a stream that somebody else has created under the same name lacks the tag.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timezone
from typing import Any

from attrs import define, field, frozen
from botocore.exceptions import BotoCoreError, ClientError

from tools.aws.ledger import TAG, UNTIL_TAG, Ledger, Resource, run_of
from tools.aws.target import Target

ATTEMPTS = 5
PATIENCE_S = 300.0
"""How long a resource may take to disappear."""
LATE_S = 10.0
"""A call that was cut off may still take effect for this time."""
_GONE = frozenset({"ResourceNotFoundException"})


@frozen
class Left:
    """A resource that was not deleted, and why."""

    resource: Resource
    why: str


@define
class Cleaner:
    """Deletes with clients that have no guard, and so checks each resource itself."""

    target: Target
    say: Callable[[str], None]
    sleep: Callable[[float], None] = time.sleep
    now_s: Callable[[], float] = time.monotonic
    _clients: dict[str, Any] = field(factory=dict, init=False)

    def clean(self, ledger: Ledger, *, was_killed: bool = False) -> list[Left]:
        """
        Delete what *ledger* names. Return what is left.

        Creation of the last resource may still be under way if the run *was_killed*.
        """
        resources = ledger.left()
        if was_killed and resources:
            self.sleep(LATE_S)
        started: list[Left] = []
        left: list[Left] = []
        for resource in reversed(resources):
            why = self._delete(resource, ledger.run.id)
            (started if why is None else left).append(Left(resource, why or "it does not disappear"))
        for each in started:
            if self._waits_until_gone(each.resource):
                ledger.gone(each.resource)
            else:
                left.append(each)
        return left

    def find(self, known: Iterable[str] = ()) -> Iterator[tuple[Resource, str, str]]:
        """
        Yield what runs have left without one of the ledgers *known*: the resource, the id of its run, and until when the run lasts.

        Names alone say nothing: a resource without the tag of the run in its name is not ours.
        """
        skipped = set(known)
        for resource in [*self._streams(), *self._tables()]:
            run = run_of(resource.name)
            if run is None or run in skipped:
                continue
            tags = self._tags(resource) or {}
            if tags.get(TAG) == run:
                yield resource, run, tags.get(UNTIL_TAG, "")

    def delete(self, found: Iterable[tuple[Resource, str, str]]) -> list[Left]:
        """Delete what `find` has yielded. Return what is left, also what belongs to a run that may be going on elsewhere."""
        left: list[Left] = []
        started: list[Left] = []
        for resource, run, until in found:
            if not _is_over(until):
                left.append(Left(resource, f"its run may go on until {until}"))
                continue
            why = self._delete(resource, run)
            (started if why is None else left).append(Left(resource, why or "it does not disappear"))
        return left + [each for each in started if not self._waits_until_gone(each.resource)]

    def _delete(self, resource: Resource, run: str) -> str | None:
        """Start to delete a resource. Return why it is left; None if it is being deleted or does not exist."""
        why = ""
        for attempt in range(ATTEMPTS):
            self.sleep(2**attempt if attempt else 0)
            try:
                tags = self._tags(resource)
                if tags is None:
                    return None
                if tags.get(TAG) != run:
                    return "it lacks the tag of its run, so somebody else has created it"
                self._call_delete(resource)
                self.say(f"deletes the {resource.kind} {resource.name}")
                return None
            except (BotoCoreError, ClientError) as error:
                if _code(error) in _GONE:
                    return None
                if isinstance(error, ClientError) and _code(error).startswith("AccessDenied"):
                    return f"{error.operation_name} is denied"
                why = _code(error) or type(error).__name__
        return f"deleting it fails with {why}"

    def _call_delete(self, resource: Resource) -> None:
        if resource.kind == "table":
            self._client("dynamodb").delete_table(TableName=resource.name)
        else:
            self._client("kinesis").delete_stream(StreamName=resource.name, EnforceConsumerDeletion=True)

    def _tags(self, resource: Resource) -> dict[str, str] | None:
        """Return the tags of a resource; None if it does not exist."""
        try:
            if resource.kind == "table":
                client = self._client("dynamodb")
                arn = client.describe_table(TableName=resource.name)["Table"]["TableArn"]
                tags = client.list_tags_of_resource(ResourceArn=arn)["Tags"]
            else:
                tags = self._client("kinesis").list_tags_for_stream(StreamName=resource.name)["Tags"]
        except ClientError as error:
            if _code(error) in _GONE:
                return None
            raise
        return {tag["Key"]: tag["Value"] for tag in tags}

    def _waits_until_gone(self, resource: Resource) -> bool:
        deadline_s = self.now_s() + PATIENCE_S
        pause_s = 0.1
        while self.now_s() < deadline_s:
            try:
                self._describe(resource)
            except (BotoCoreError, ClientError) as error:
                if _code(error) in _GONE:
                    return True
            self.sleep(pause_s)
            pause_s = min(5.0, 2 * pause_s)
        return False

    def _describe(self, resource: Resource) -> None:
        if resource.kind == "table":
            self._client("dynamodb").describe_table(TableName=resource.name)
        else:
            self._client("kinesis").describe_stream_summary(StreamName=resource.name)

    def _streams(self) -> Iterator[Resource]:
        after: dict[str, str] = {}
        while True:
            page = self._client("kinesis").list_streams(Limit=1000, **after)
            names = page["StreamNames"]
            yield from (Resource("stream", name) for name in names)
            if not page["HasMoreStreams"] or not names:
                return
            after = {"ExclusiveStartStreamName": names[-1]}

    def _tables(self) -> Iterator[Resource]:
        for page in self._client("dynamodb").get_paginator("list_tables").paginate():
            yield from (Resource("table", name) for name in page["TableNames"])

    def _client(self, service: str) -> Any:
        if service not in self._clients:
            self._clients[service] = self.target.client(service)
        return self._clients[service]


def _code(error: Exception) -> str:
    return str(error.response["Error"]["Code"]) if isinstance(error, ClientError) else ""


def _is_over(until: str) -> bool:
    try:
        return datetime.fromisoformat(until) < datetime.now(timezone.utc)
    except ValueError:
        return False
