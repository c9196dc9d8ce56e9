"""
The form of an event's declaration, and the events that this package logs.

No module that runs imports this: a declaration is for the reference page, and for the tests that compare log calls with it.
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import field, frozen


@frozen
class Event:
    """The declaration of one event. docs/reference/events.md is generated from these."""

    name: str
    """`noun.past_participle`."""
    level: str
    """The level's name in `logging`."""
    where: str
    """Spark's process that logs it: driver, task, or both."""
    meaning: str
    """When it is logged."""
    facts: Mapping[str, str]
    """The keys that every line has, each with its meaning; "" where the page explains the key for all events."""
    optional: Mapping[str, str] = field(factory=dict)
    """The keys that only some lines have."""
    example: str = field(kw_only=True)
    """A line as a text handler shows it."""


LOGGER = "kinesis_credentials"
EVENTS = (
    Event(
        "credentials.kept",
        "WARNING",
        "driver, task",
        "A source of credentials failed when its keys were due for a refresh. The keys are still valid and stay in use. The "
        "source is asked again a minute later.",
        {"source": "the name of the source, such as a role's ARN", "reason": ""},
        example="credentials.kept source=arn:aws:iam::123456789012:role/ingest reason=STS AssumeRole for ... failed: ...",
    ),
    Event(
        "credentials.refreshed",
        "INFO",
        "driver, task",
        "A source of credentials returned keys. The first keys of a process are logged as well.",
        {
            "source": "the name of the source, such as a role's ARN",
            "expires": "when the keys expire, in ISO 8601; `None` for keys that do not",
        },
        example="credentials.refreshed source=arn:aws:iam::123456789012:role/ingest expires=2026-11-22T15:26:00+00:00",
    ),
)
