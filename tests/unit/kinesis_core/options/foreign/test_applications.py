"""A KCL application as a starting position, as users write it."""

from __future__ import annotations

import json

import pytest

from kinesis_core.model import AtTimestamp, KclApplication, Latest, PerStream, ShardEnd, TrimHorizon
from kinesis_core.options import BadValueError, ending_position, starting_position

A, B, C = (f"shardId-{i:012d}" for i in range(3))


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ('{"kclApplication": "billing"}', KclApplication("billing")),
        (
            '{"KCLAPPLICATION": "billing_2.b-c", "Region": "EU-WEST-1"}',
            KclApplication("billing_2.b-c", "eu-west-1"),
        ),
        (
            f'{{"kclApplication": "billing", "{A}": "AT_TIMESTAMP 5", "{B}": "SHARD_END"}}',
            KclApplication("billing", cuts={A: AtTimestamp(5000), B: ShardEnd()}),
        ),
        (
            f'{{"kclApplication": "billing", "{A}": "LATEST", "{B}": "LATEST"}} {{"{A}": "TRIM_HORIZON"}}\n{{"{C}": "SHARD_END"}}',
            KclApplication("billing", cuts={A: TrimHorizon(), B: Latest(), C: ShardEnd()}),
        ),
        (
            '{"orders": {"kclApplication": "billing"}, "returns": "LATEST"}',
            PerStream({"orders": KclApplication("billing"), "returns": Latest()}),
        ),
    ],
)
def test_applications(text: str, position: object) -> None:
    """An application goes by the name of its table. Its region and positions of shards may be added, for one stream or each."""
    assert starting_position().parse(text) == position


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        (
            '{"kclApplication": ""}',
            "'kclApplication' is the name of the application's lease table: 3 to 255 letters",
        ),
        ('{"kclApplication": 7}', "'kclApplication' is the name of the application's lease table"),
        ('{"kclApplication": "billing", "region": "Frankfurt"}', "'region' is the region of the lease table"),
        ('{"kclApplication": "billing", "region": 7}', "'region' is the region of the lease table"),
        ('{"kclApplication": "billing", "kclapplication": "b"}', "The JSON object has a name twice."),
        ('{"kclApplication": "billing", "table": "b"}', "'table' is not a shard id such as"),
        (f'{{"kclApplication": "billing", "{A}": "NEWEST"}}', f"The position of {A} is not valid."),
        (
            '{"orders": {"kclApplication": "b"}}',
            "The position of stream 'orders' is not valid. 'kclApplication' is the name of",
        ),
        ('{"kclApplication": "billing"} {"orders": "LATEST"}', "'orders' is not a shard id"),
    ],
)
def test_bad_applications(text: str, hint: str) -> None:
    """A value that is not valid is refused by name."""
    with pytest.raises(BadValueError) as caught:
        starting_position().parse(text)
    assert caught.value.hint.startswith(hint)


@pytest.mark.parametrize(
    "position", [{"kclApplication": "billing"}, {"orders": {"kclApplication": "billing"}}]
)
def test_no_ends(position: object) -> None:
    """The point that an application has reached is where reading starts, not where it ends."""
    with pytest.raises(BadValueError, match="A checkpoint is a starting position"):
        ending_position().parse(json.dumps(position))
