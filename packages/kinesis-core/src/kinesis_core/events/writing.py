"""Events of writing to streams."""

from __future__ import annotations

from kinesis_credentials.events import Event

WRITING = (
    Event(
        "hash_keys.ignored",
        "WARNING",
        "task",
        "Rows have explicit hash keys, and the stream ignores them. One line for each producer.",
        {"stream": "", "strategy": "the stream's `RecordDistributionStrategy`"},
        example="hash_keys.ignored stream=orders strategy=AUTO",
    ),
    Event(
        "strategy.changed",
        "INFO",
        "task",
        "The stream's `RecordDistributionStrategy` changed while it was written to.",
        {"stream": "", "strategy": "the new strategy"},
        example="strategy.changed stream=orders strategy=AUTO",
    ),
    Event(
        "stream.recreated",
        "WARNING",
        "task",
        "The stream that is written to was deleted and created again.",
        {"stream": ""},
        example="stream.recreated stream=orders",
    ),
)
