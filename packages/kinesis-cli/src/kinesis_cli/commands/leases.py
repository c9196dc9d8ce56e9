"""The command `kinesis leases`."""

from __future__ import annotations

import time
from typing import Annotated, Literal

from cyclopts import Parameter

from kinesis_cli.completing import completed, stream_names
from kinesis_cli.connecting import WITH_TABLES, ConnectWithTables
from kinesis_cli.ending import UsageError
from kinesis_cli.moments import parse_duration_ms


def leases(
    application: str,
    /,
    *,
    reset: Annotated[tuple[str, ...], Parameter(negative="")] = (),
    release: Annotated[str | None, Parameter(negative="")] = None,
    stream: Annotated[str | None, completed(stream_names)] = None,
    watch_for: str = "4s",
    force: Annotated[bool, Parameter(negative="")] = False,
    yes: Annotated[bool, Parameter(alias="-y", negative="")] = False,
    output: Annotated[Literal["text", "json"], Parameter(alias="-o")] = "text",
    connect: ConnectWithTables = WITH_TABLES,
) -> None:
    """
    Show the leases of an application of the KCL or of this project, or change them.

    Parameters
    ----------
    application
        The application: the name of its lease table in DynamoDB, or of its leases in the file --leases.
    reset
        SHARD=POSITION: where the application reads on. SHARD is the id of a shard or `all`. POSITION is TRIM_HORIZON, LATEST, a
        time such as `10m`, or a sequence number: `AT 4966` with that record, `AFTER 4966` after it. May be repeated.
    release
        Make the leases of this worker free, so that others have them at once.
    stream
        Only the leases of this stream. A KCL with one stream does not write its name: --reset with a time needs this option then.
    watch_for
        How long to watch whether workers run. `0s` does not watch.
    force
        Change leases although workers run.
    yes
        Do not ask before something is changed.
    output
        Tables, or one object of JSON.
    """
    from kinesis_cli.lease_stores import open_leases
    from kinesis_cli.lease_table import ManagedApplication, parse_reset, show_table

    if reset and release is not None:
        raise UsageError("--reset and --release exclude each other.")
    watch_ms = parse_duration_ms(watch_for)
    if watch_ms is None:
        raise UsageError(f"--watch-for is '{watch_for}'. Use a time such as 4s.")
    resets = [parse_reset(text, int(time.time() * 1000)) for text in reset]
    store = open_leases(connect.to_account, application, connect.dynamodb_endpoint_url, connect.leases)
    opened = ManagedApplication(connect.to_account, store, stream)
    watched = opened.watch(watch_ms / 1000)
    if resets:
        opened.reset(resets, watched, force=force, yes=yes)
    elif release is not None:
        opened.release(release, watched, force=force, yes=yes)
    else:
        show_table(application, watched, output)
