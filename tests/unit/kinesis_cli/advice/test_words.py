"""Advice as sentences and calls."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from kinesis_cli.advice import AwsCli, draw, report_json
from kinesis_cli.advice.judge import (
    Fine,
    HotKey,
    LeftToKinesis,
    Merge,
    Recommendation,
    Scale,
    Split,
    SplitInTheMiddle,
    TooLittle,
    WarmUp,
)
from kinesis_cli.advice.showing import Report
from kinesis_cli.advice.words import explain
from kinesis_cli.traffic import show_key
from kinesis_core.model import WarmThroughput
from support.sampled import by_shard, even_shards, sample, summary

ARN = "arn:aws:kinesis:eu-west-1:000000000000:stream/orders"
CALLS = AwsCli(ARN, "eu-west-1")


@pytest.mark.parametrize(
    ("advice", "call"),
    [
        (
            Split("s-0", 0.9, 77, 0.5),
            "split-shard {} --shard-to-split s-0 --new-starting-hash-key 77",
        ),
        (
            SplitInTheMiddle("s-0", 0.9, 77),
            "split-shard {} --shard-to-split s-0 --new-starting-hash-key 77",
        ),
        (
            Merge("s-0", "s-1", 0.1),
            "merge-shards {} --shard-to-merge s-0 --adjacent-shard-to-merge s-1",
        ),
        (
            Scale(2, 4, 0.9),
            "update-shard-count {} --target-shard-count 4 --scaling-type UNIFORM_SCALING",
        ),
        (HotKey("s-0", 0.9, "k", 0.8, False), None),
        (LeftToKinesis("s-0", 0.9), None),
        (WarmUp(3.2, None, None), None),
        (WarmUp(3.2, WarmThroughput(10, 10), None), None),
        (
            WarmUp(3.2, WarmThroughput(4, 5), 7),
            "update-stream-warm-throughput {} --warm-throughput-mibps 7",
        ),
        (TooLittle(3), None),
        (Fine(), None),
    ],
)
def test_calls(advice: Recommendation, call: str | None) -> None:
    """Advice that a call carries out has that call, and other advice has none."""
    words, printed = explain(advice, CALLS)
    where = f"--stream-arn {ARN} --region eu-west-1"
    assert printed == (None if call is None else f"aws kinesis {call.format(where)}")
    assert words.endswith(".")
    assert "%%" not in words


def test_a_warm_throughput_on_its_way_is_named() -> None:
    """The text has what the stream is scaled for, where it is going, and what the sample uses of it."""
    words, _ = explain(WarmUp(3.21, WarmThroughput(4, 5), 7), CALLS)
    assert words.startswith(
        "The stream is scaled for 4 MiB/s of writes, and Kinesis is scaling it to 5 MiB/s."
    )
    assert "3.2 MiB/s" in words
    words, _ = explain(WarmUp(3.21, WarmThroughput(10, 10), None), CALLS)
    assert "scaling it" not in words


def test_calls_go_where_the_command_went() -> None:
    """A call has the options with which the user reached the stream, quoted for the shell."""
    calls = AwsCli(ARN, "eu-west-1", "http://[::1]:4567", "my own")
    assert calls.merge("a", "b") == (
        f"aws kinesis merge-shards --stream-arn {ARN} --region eu-west-1 "
        "--shard-to-merge a --adjacent-shard-to-merge b --endpoint-url 'http://[::1]:4567' --profile 'my own'"
    )


def test_a_role_is_named() -> None:
    """The AWS CLI cannot assume a role by an option, so the role is named below the calls."""
    calls = AwsCli(ARN, "eu-west-1", role_arn="arn:aws:iam::000000000000:role/reader")
    shown = draw(report(Merge("s-2", "s-3", 0.1)), calls, 5)
    assert str(shown[-1]) == "They need the credentials of the role arn:aws:iam::000000000000:role/reader."
    assert "role" not in str(draw(report(Fine()), calls, 5)[-1])


def test_automatic_distribution_is_for_on_demand_streams() -> None:
    """AUTO is suggested for on-demand streams only: others cannot have it."""
    assert "AUTO" in explain(HotKey("s-0", 0.9, "k", 0.8, True), CALLS)[0]
    assert "AUTO" not in explain(HotKey("s-0", 0.9, "k", 0.8, False), CALLS)[0]


def test_keys_do_not_control_the_terminal() -> None:
    """Characters of a key that would move the cursor or break the line are escaped, and a long key is cut."""
    assert show_key("a\x1b[2Jb\nc\u202ed é") == "a\\x1b[2Jb\\nc\\u202ed é"
    assert len(show_key("x" * 256)) == 60


def report(*advice: Recommendation) -> Report:
    shards = even_shards(2)
    samples = by_shard(
        shards, sample(900, {"big\x1b": 8000, "small": 1000, "rare": 1}), sample(100, {"other": 9})
    )
    return Report(summary(), tuple(shards), 30_000, samples, advice)


def test_lines() -> None:
    """Shards with their loads, keys of the hot shard that have a share worth naming, and the advice with its calls."""
    console = Console(file=io.StringIO(), width=90)
    for part in draw(report(Split("s-0", 0.9, 77, 0.5), Merge("s-2", "s-3", 0.1)), CALLS, 5):
        console.print(part, crop=False)
    lines = [line.rstrip() for line in console.file.getvalue().splitlines()]  # type: ignore[attr-defined]
    assert lines == [
        "orders  2 open shards. In, over the last 30 s: 1,000 records/s, 97.7 KiB/s.",
        "",
        "SHARD                 RECORDS/S   BYTES/S     LOAD",
        "shardId-000000000000        900  87.9 KiB  hot 90%",
        "shardId-000000000001        100   9.8 KiB      10%",
        "",
        "KEY      SHARD                 RECORDS  BYTES",
        "big\\x1b  shardId-000000000000      89%    89%",
        "small    shardId-000000000000      11%    11%",
        "",
        "* s-0 is hot: 90% of what a shard accepts. Split it where its traffic is halved: 50% and",
        "50%.",
        f"  {CALLS.split('s-0', 77)}",
        "* s-2 and s-3 are adjacent and use 10% of one shard together. Merge them, if they are not",
        "busier at other times.",
        f"  {CALLS.merge('s-2', 's-3')}",
        "Make these calls one after the other, each when the stream is ACTIVE again.",
    ]


def test_json() -> None:
    """JSON has each shard with its busiest keys as they are, and each advice with its kind and call."""
    shown = report_json(report(HotKey("s-0", 0.9, "big\x1b", 0.8, False)), CALLS, 2)
    assert [key["key"] for key in shown["shards"][0]["keys"]] == ["big\x1b", "small"]
    (advice,) = shown["advice"]
    assert (advice["kind"], advice["shardId"], advice["key"], advice["call"]) == (
        "HotKey",
        "s-0",
        "big\x1b",
        None,
    )
