"""A flag means the same in every command that has it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations

import pytest
from attrs import frozen

from kinesis_cli.app import COMMANDS, make_app

MEANINGS = {
    "--all": "show all shards",
    "--efo": "enhanced fan-out: read by it, or check what it needs",
    "--file": "a file of records, instead of a standard stream",
    "--key": "the partition key of records",
    "--output": "the form of the results",
    "--sample": "how much of each shard's latest records to read",
    "--shard": "only this shard",
    "--since": "where to begin",
    "--stream": "only this stream, of several",
    "--until": "where to end",
    "STREAM": "a stream",
}
"""The one meaning of each flag whose text says more in some commands. The text of all other flags is the same everywhere."""
SHORT = {
    "-f": {"--format"},
    "-k": {"--key"},
    "-n": {"--last", "--most"},
    "-o": {"--output"},
    "-s": {"--speed"},
}
SHORT |= {"-y": {"--yes"}, "-0": {"--null"}}
"""The flags that each letter stands for. -n is how many are shown, of records or of shards."""


@frozen
class Flag:
    command: str
    names: tuple[str, ...]
    """Of all names the first is the one that the docs use."""
    text: str


def flags_of(command: str) -> list[Flag]:
    """Return the flags of *command* in the order of its help."""
    arguments = make_app()[command].assemble_argument_collection(parse_docstring=True)
    return [
        Flag(command, each.names, " ".join((each.parameter.help or "").split()))
        for each in arguments
        if each.name != "*"  # the fields of that class come behind it
    ]


ALL = [flag for commands in COMMANDS.values() for command in commands for flag in flags_of(command)]


def shared() -> Iterator[tuple[str, list[Flag]]]:
    """Yield the flags that several commands have, by name."""
    by_name: defaultdict[str, list[Flag]] = defaultdict(list)
    for flag in ALL:
        by_name[flag.names[0]].append(flag)
    return ((name, flags) for name, flags in by_name.items() if len(flags) > 1)


def test_one_meaning() -> None:
    """A name of several commands has one text, or one meaning that is listed here."""
    assert {name for name, flags in shared() if len({flag.text for flag in flags}) > 1} == set(MEANINGS)


@pytest.mark.parametrize("name", [name for name, _ in shared()])
def test_the_same_names(name: str) -> None:
    """A flag has the same short form and the same negative form in all commands."""
    same = [flag.names for flag in ALL if flag.names[0] == name]
    long = {tuple(each for each in names if each.startswith("--")) for names in same}
    assert len(long) == 1


def test_letters() -> None:
    """A letter stands for one flag."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for flag in ALL:
        for name in flag.names:
            if not name.startswith("--") and name.startswith("-"):
                found[name].add(flag.names[0])
    assert found == SHORT


def test_the_same_order() -> None:
    """Flags that two commands share come in the same order in both."""
    orders = {
        command: [flag.names[0] for flag in flags_of(command)]
        for group in COMMANDS.values()
        for command in group
    }
    for (one, first), (other, second) in combinations(orders.items(), 2):
        ours = [name for name in first if name in second]
        assert ours == [name for name in second if name in first], f"{one} and {other}"
