"""Which consumers of enhanced fan-out a command leaves behind."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import frozen

from kinesis_cli.connecting import Connect
from kinesis_core import Stream, StreamNotFoundError
from kinesis_core.aws import Consumer


@frozen
class Consumers:
    """The consumers of a stream, of which one has a status; None: there is none."""

    status: str | None

    def describe_consumer(self, name_or_arn: str) -> Consumer:
        if self.status is None:
            raise StreamNotFoundError("no such consumer", "ResourceNotFoundException")
        return Consumer(name_or_arn, "arn", self.status)


@pytest.mark.parametrize(
    ("status", "is_kept"), [("ACTIVE", True), ("CREATING", True), ("DELETING", False), (None, False)]
)
def test_a_consumer_that_was_there_is_kept(
    monkeypatch: pytest.MonkeyPatch, status: str | None, is_kept: bool
) -> None:
    """A consumer that existed is kept. One that is being removed has to be registered again, and is removed at the end."""
    opened: dict[str, Any] = {}
    monkeypatch.setattr("kinesis_core.aws.consumer_client", lambda *_: Consumers(status))
    monkeypatch.setattr(Stream, "open", lambda _name, **arguments: opened.update(arguments))
    Connect(region="eu-west-1").open("orders", consumer="me")
    assert (opened["consumer"], opened["keep_consumer"]) == ("me", is_kept)
