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
        "records.lost",
        "WARNING",
        "task",
        "A producer that was not closed could not write all of its records when it was garbage-collected, or when the program ended.",
        {
            "stream": "",
            "user_records": "how many user records may not be in the stream",
            "reason": "the error",
        },
        example="records.lost stream=orders user_records=100 reason=100 user records could not be written to stream orders: ...",
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
        "The stream was deleted and created again while it was written to.",
        {"stream": ""},
        example="stream.recreated stream=orders",
    ),
)
