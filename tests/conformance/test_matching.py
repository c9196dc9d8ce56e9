"""How the conformance suite compares."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tools.conformance.matching import MATCHERS, differences
from tools.conformance.scenarios import BadScenarioError, load
from tools.conformance.values import at, fill

FITTING: list[tuple[str, Any, Any, Any]] = [
    ("text", "a", "a", "b"),
    ("number", 1, 1.0, True),
    ("boolean", True, True, 1),
    ("object", {"a": 1}, {"a": 1, "more": 2}, {"b": 1}),
    ("object of another type", {"a": 1}, {"a": 1}, [1]),
    ("list", [1, 2], [1, 2], [1, 2, 3]),
    ("order of a list", [1, 2], [1, 2], [2, 1]),
    ("list of another type", [], [], None),
    ("$match", {"$match": "a+"}, "aa", "aab"),
    ("$match of a number", {"$match": ".*"}, "1", 1),
    ("$type", {"$type": "string"}, "", 1),
    ("$type number", {"$type": "number"}, 1.5, True),
    ("$type boolean", {"$type": "boolean"}, False, 0),
    ("$absent", {"a": {"$absent": True}}, {}, {"a": None}),
    ("$none", {"a": {"$none": True}}, {"a": None}, {"a": 0}),
    ("$none of an absent member", {"a": {"$none": True}}, {}, {"a": ""}),
    ("$length", {"$length": 2}, [1, 2], [1]),
    ("$length of a number", {"$length": 2}, "ab", 2),
    ("$contains", {"$contains": [1]}, [2, 1], [2]),
    ("$contains of no list", {"$contains": [1]}, [1], 1),
    ("$set", {"$set": [1, 2]}, [2, 1], [2, 1, 1]),
    ("$each", {"$each": {"a": 1}}, [{"a": 1}, {"a": 1}], [{"a": 1}, {"a": 2}]),
    ("$between", {"$between": [1, 3]}, 3, 4),
    ("$above", {"$above": "9"}, "10", "9"),
    ("$above of a text", {"$above": "9"}, 10, "x"),
    ("$not", {"$not": 0}, 1, 0),
    ("$json", {"$json": {"a": 1}}, '{"a": 1}', "{a: 1}"),
    (
        "$violations",
        {"$violations": ["x", "y"]},
        "2 validation errors detected: y; x",
        "1 validation error detected: x",
    ),
    (
        "$violations, one",
        {"$violations": ["x"]},
        "1 validation error detected: x",
        "1 validation errors detected: x",
    ),
    (
        "$violations, more",
        {"$violations": ["x"]},
        "1 validation error detected: x",
        "1 validation error detected: x; y",
    ),
]


@pytest.mark.parametrize(
    ("expected", "fits", "differs"), [one[1:] for one in FITTING], ids=[one[0] for one in FITTING]
)
def test_matching(expected: Any, fits: Any, differs: Any) -> None:
    """What fits has no difference, and what does not has one."""
    assert list(differences(expected, fits)) == []
    assert list(differences(expected, differs)) != []


def test_all_matchers_are_tested() -> None:
    """Each matcher has a case."""
    assert {name.split(" ")[0].rstrip(",") for name, *_ in FITTING if name.startswith("$")} == MATCHERS


def test_difference_names_its_place() -> None:
    """A difference has the path of the part that differs."""
    assert list(differences({"Shards": [{"ShardId": "a"}]}, {"Shards": [{"ShardId": "b"}]})) == [
        'Shards.0.ShardId is "b", not "a"'
    ]


def test_values() -> None:
    """`${...}` is a saved value, a time, or a repeated text. In a pattern a value stands for itself."""
    names = {"arn": "a.b", "number": 5, "now": lambda: 100}
    assert fill({"x": ["${number}", "n=${number}", "${now-60}", "${a*3}"]}, names) == {
        "x": [5, "n=5", 40, "aaa"]
    }
    assert fill({"${a*2}": {"$times": 2, "value": {"k": "${number}"}}}, names) == {"aa": [{"k": 5}, {"k": 5}]}
    assert fill({"$match": "${arn}/.*"}, names) == {"$match": r"a\.b/.*"}
    with pytest.raises(KeyError):
        fill("${unknown}", names)


def test_paths() -> None:
    """A path leads through objects and lists."""
    assert at("Records.1.ShardId", {"Records": [{}, {"ShardId": "a"}]}) == "a"
    assert at("", "whole") == "whole"


@pytest.mark.parametrize(
    ("scenario", "text"),
    [
        ('"source": ["s"], "expect": {"empty": true}, "wiht": {}', "Unknown members: wiht"),
        ('"source": ["s"], "expect": {"answer": {"$mach": ""}}', "Unknown matchers: \\$mach"),
        ('"source": ["s"], "expect": {"answr": {}}', "expect has one of"),
        ('"source": [], "expect": {"empty": true}', "needs a source"),
        ('"source": ["s"]', "needs expect"),
        ('"source": ["s"], "expect": {"empty": true}, "before": ["nothing"]', "nothing"),
    ],
)
def test_bad_scenarios(tmp_path: Path, scenario: str, text: str) -> None:
    """A file that a runner would misunderstand is an error, which names the scenario."""
    (tmp_path / "area.json").write_text(
        f'{{"area": "Area", "scenarios": [{{"name": "one", "fact": "", "call": "ListStreams", {scenario}}}]}}'
    )
    with pytest.raises(BadScenarioError, match=f"area.json, one: .*{text}"):
        load(tmp_path)


def test_names_are_unique(tmp_path: Path) -> None:
    """A name that stands twice is an error, since results are by name."""
    one = '{"name": "one", "fact": "", "source": ["s"], "call": "ListStreams", "expect": {"empty": true}}'
    (tmp_path / "area.json").write_text(f'{{"area": "Area", "scenarios": [{one}, {one}]}}')
    with pytest.raises(BadScenarioError, match="one"):
        load(tmp_path)
