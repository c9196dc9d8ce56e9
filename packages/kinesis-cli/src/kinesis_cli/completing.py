"""
What a shell completes while the command line is typed: the names of streams, consumers and shards.

The names come from our own commands, each in a process without a terminal: it cannot ask for a code of MFA, prints nothing, and
is killed when it takes too long. A name that cannot be found is not completed, and nothing says why.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from attrs import fields_dict
from cyclopts import Parameter

if TYPE_CHECKING:
    from cyclopts.completion import CompletionContext

PATIENCE_S = 3.0
"""How long a person waits for a shell. A first call takes half a second, and one to another continent a second more."""
_CONNECTION = (
    "--region",
    "--endpoint-url",
    "--profile",
    "--role-arn",
    "--external-id",
    "--role-session-name",
)


def stream_names(context: CompletionContext) -> Sequence[str]:
    """Return the streams of the account and region that the other options name."""
    return _ask(context, "streams", "-o", "names")


def destination_names(context: CompletionContext) -> Sequence[str]:
    """Return the streams that can be the destination of a copy."""
    return _ask(context, "streams", "-o", "names", prefix="--to-")


def consumer_names(context: CompletionContext) -> Sequence[str]:
    """Return the registered consumers of the stream that is typed already."""
    return _members(context, ("consumers",), lambda consumer: [consumer["name"]])


def shard_ids(context: CompletionContext) -> Sequence[str]:
    """Return the shards of the stream that is typed already, the newest first."""

    def ids(stream: Any) -> Iterable[str]:
        return (shard["shardId"] for shard in reversed(stream["shards"]))

    return _members(context, ("shards", "--no-sample"), ids)


def completed(by: Callable[[CompletionContext], Sequence[str]]) -> Parameter:
    """Return what lets *by* complete an option's values. On Python 3.10, whose cyclopts is older, nothing completes them."""
    return Parameter(completer=by) if "completer" in fields_dict(Parameter) else Parameter()


StreamName = Annotated[str, completed(stream_names)]
"""A stream: its name, which is completed, or its ARN."""


def _members(
    context: CompletionContext, command: Sequence[str], names: Callable[[Any], Iterable[str]]
) -> Sequence[str]:
    import msgspec

    stream = context["STREAM"].raw
    if stream is None or stream.startswith("-"):
        return []
    lines = _ask(context, *command, stream, "-o", "json")
    return [name for line in lines for name in names(msgspec.json.decode(line))]


def _ask(context: CompletionContext, *command: str, prefix: str = "") -> Sequence[str]:
    """Return the lines that a command prints with the connection that is typed already, or that of a destination."""
    import subprocess

    try:
        ran = subprocess.run(  # noqa: S603 # our own command
            [sys.executable, "-m", "kinesis_cli", *command, *_connection(context, prefix)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            timeout=PATIENCE_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return []
    return ran.stdout.decode().splitlines() if ran.returncode == 0 else []


def _connection(context: CompletionContext, prefix: str) -> Iterable[str]:
    for option in _CONNECTION:
        given = context.get(option)
        if prefix and (own := context.get(prefix + option.removeprefix("--"))) and own.raw is not None:
            given = own
        if given is not None and given.raw is not None:
            yield f"{option}={given.raw}"
