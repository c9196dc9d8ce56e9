"""The streams of an account in one region."""

from __future__ import annotations

import random

from kinesis_core.aws.calls import BotoCaller, read_text
from kinesis_core.aws.clients import make_client
from kinesis_core.aws.connection import Connection
from kinesis_core.clock import SystemClock


def list_streams(connection: Connection, streams_a_page: int = 1000) -> list[str]:
    """
    Return the names of all streams in the region of *connection*, sorted. Limit: 5 calls/s per account.

    Raises:
        CredentialsError: There are no credentials.
        ServiceError: Kinesis cannot be reached, or access is denied.
    """
    lister = _Lister(
        make_client(connection, "kinesis", connection.endpoint_url),
        "*",
        None,
        connection.retry,
        SystemClock(),
        random.Random(),  # noqa: S311 # jitter, not a secret
    )
    names, has_more = lister.page("", streams_a_page)
    while has_more and names:
        more, has_more = lister.page(names[-1], streams_a_page)
        names += more
    return names


class _Lister(BotoCaller):
    """The call that lists streams. Names come sorted, and a page begins after the last name of the one before."""

    def page(self, after: str, limit: int) -> tuple[list[str], bool]:
        start = {"ExclusiveStartStreamName": after} if after else {}
        return self._ask(
            "ListStreams",
            lambda: self.client.list_streams(Limit=limit, **start),
            lambda response: (
                [read_text({"StreamName": name}, "StreamName") for name in response["StreamNames"]],
                bool(response["HasMoreStreams"]),
            ),
        )
