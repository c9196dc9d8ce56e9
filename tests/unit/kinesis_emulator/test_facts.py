"""The facts about the service that defaults are taken from."""

from __future__ import annotations

from kinesis_emulator import Settings
from kinesis_emulator.facts import FACTS, fact
from kinesis_emulator.settings import LATENCIES


def test_each_fact_has_a_source_and_a_use() -> None:
    """A fact says where it is from, and is a default, or a time that `like_aws` sets."""
    defaults = {name: fact(name) for name in FACTS if name not in LATENCIES}
    assert all(
        entry["source"] and entry.keys() == {"value", "source", "measured"} for entry in FACTS.values()
    )
    assert {name: getattr(Settings(), name) for name in defaults} == defaults


def test_like_aws() -> None:
    """By default statuses take half a second, and nothing else takes time. `like_aws` sets the times that AWS takes."""
    changing = {name: getattr(Settings(), name) for name in LATENCIES if getattr(Settings(), name)}
    assert changing == dict.fromkeys(
        ("stream_creating_s", "stream_updating_s", "stream_deleting_s", "consumer_creating_s"), 0.5
    )
    assert {name: getattr(Settings.like_aws(), name) for name in LATENCIES} == {
        name: fact(name) for name in LATENCIES
    }
    assert all(fact(name) > 0 for name in LATENCIES)
