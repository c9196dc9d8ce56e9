"""Errors of the core in the words of commands."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kinesis_cli.wording import in_words_of_commands
from kinesis_core.errors import DataLossError
from kinesis_core.model import After, At, ShardOffset, ShardRange
from kinesis_core.planning.loss import LossReport
from kinesis_core.reading.progress import RangeProgress


def lost_before_a_batch() -> None:
    LossReport("orders", is_fatal=True).report("shardId-0", ShardOffset(After(5)), "it expired")


def lost_in_a_batch() -> None:
    RangeProgress(ShardRange("orders", "shardId-0", At(4), After(9)), fail_on_data_loss=True).lose(
        "it expired"
    )


@pytest.mark.parametrize("lose", [lost_before_a_batch, lost_in_a_batch])
def test_a_loss_names_no_option_of_spark(lose: Callable[[], None]) -> None:
    """No command goes on after a loss. The advice is where to begin, and nothing after it is lost from the message."""
    with pytest.raises(DataLossError, match="failOnDataLoss=false") as stopped:
        lose()
    words = in_words_of_commands(stopped.value)
    assert "failOnDataLoss" not in words
    assert "Begin later, with --since. [" in words
    assert words.startswith("Shard shardId-0 of orders: it expired")
