"""The command `kinesis top`."""

from __future__ import annotations

import sys
from importlib.util import find_spec

from kinesis_cli.connecting import DEFAULT, Connect
from kinesis_cli.ending import CommandError, UsageError


def top(stream: str | None = None, /, *, every: float = 1.0, connect: Connect = DEFAULT) -> None:
    """
    Show streams and shards live: what comes in, and who reads. It is a full-screen program; q quits.

    Parameters
    ----------
    stream
        The stream, a name or an ARN. Without it all streams of the account and region are listed; Enter opens one.
    every
        How often each shard is read, in seconds.
    connect
        How to reach AWS.
    """
    if every < 1:
        raise UsageError(f"--every accepts 1 second or more: others read the shards, too; got {every:g}.")
    if find_spec("textual") is None:
        raise CommandError('This command needs textual: pip install "kinesis-cli[top]"')
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise CommandError(
            "This command needs a terminal. `kinesis shards` shows the same once, also as JSON."
        )
    from kinesis_cli.live import KinesisSource
    from kinesis_cli.screens import Top

    source = KinesisSource(connect.to, connect.to_account)
    if stream is None:
        source.streams()
    else:
        source.stream(stream)  # a wrong name or key is reported as by any other command
    ended = Top(source, stream, every).run()
    if ended is not None:
        raise ended
