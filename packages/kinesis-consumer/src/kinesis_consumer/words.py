"""What a group says about an error: it names arguments, and its positions are in leases."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from kinesis_core import KinesisError
from kinesis_credentials.advice import PLAIN, Advice, Setting, Vocabulary

NEW_LEASES = (
    "Start with new leases: stop all workers, and delete the leases of the earlier stream, or give the group another application "
    "name. It begins at `start` then."
)
_GIVE_POSITION = "Give a position such as TRIM_HORIZON. A group continues from its leases."
GROUPS = Vocabulary(
    {
        **PLAIN.names,
        Setting.STREAM: "'streams'",
        Setting.TABLES_ENDPOINT: "endpoint_url of DynamoLeases",
        Setting.SKIP_LOST: "fail_on_data_loss=False in GroupSettings",
    },
    {
        Advice.INSTALL_HTTP2: "",
        Advice.CHECK_TABLE: "Check the name of the table (application, or table of DynamoLeases), region and account.",
        Advice.NAME_ANOTHER_TABLE: (
            "Name another one (application, or table of DynamoLeases): a missing one is created."
        ),
        Advice.CHOOSE_TABLES_ENDPOINT: (
            f"{Advice.CHOOSE_TABLES_ENDPOINT.value} Or keep the leases in SqliteLeases('leases.db')."
        ),
        Advice.GIVE_POSITION: _GIVE_POSITION,
        Advice.USE_ITS_RELEASE: _GIVE_POSITION,
        Advice.RESTORE: f"Restore the leases. {NEW_LEASES}",
        Advice.START_ANEW: NEW_LEASES,
        Advice.SKIP_LOST: (
            "To continue with the oldest record that is left, set fail_on_data_loss=False in GroupSettings. The expired records are "
            "then skipped for good. Or start with new leases."
        ),
        Advice.AWAIT_CONSUMER: "Open this worker again, or name another consumer.",
        Advice.POLL: "Open all workers without a consumer: then they poll.",
        Advice.WRITE_AGAIN: "",
        Advice.SLOW_DOWN: "Give the stream more shards, or run fewer producers.",
        Advice.STOP_AGGREGATING: "",
    },
)


@contextmanager
def in_words_of_groups() -> Iterator[None]:
    """Let errors of our packages leave a public method of a group in its words."""
    try:
        yield
    except KinesisError as error:
        error.words = GROUPS
        raise
