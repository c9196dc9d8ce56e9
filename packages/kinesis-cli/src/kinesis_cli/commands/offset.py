"""The command `kinesis offset`."""

from __future__ import annotations

from typing import Annotated, Literal

from cyclopts import Parameter


def offset(
    action: Literal["show"],  # noqa: ARG001 # the only one so far
    offset: Annotated[str, Parameter(allow_leading_hyphen=True)],
    /,
    *,
    batch: int | None = None,
    stream: str | None = None,
    shard: Annotated[tuple[str, ...], Parameter(negative="", show_default=False)] = (),
    output: Annotated[Literal["text", "json"], Parameter(alias="-o")] = "text",
) -> None:
    """
    Show a saved offset of this project's source, also one that is packed. AWS is not called.

    Parameters
    ----------
    action
        `show`.
    offset
        The checkpoint directory of a query of Spark: a path or a URL such as s3://bucket/checkpoint. Or a file with an offset, the
        JSON text of one, or `-` for the standard input.
    batch
        The batch of the query. Default: the last one that is planned.
    stream
        Only this stream, by the name or ARN that the offset has.
    shard
        Only this shard: its id, or its number. May be repeated.
    output
        Tables, or one line of JSON for each source of the query: version 1 of offsets, with a field for each value.
    """
    from kinesis_cli.saved_offsets import read_saved, show_saved

    show_saved(read_saved(offset, batch).only(stream, shard), as_json=output == "json")
