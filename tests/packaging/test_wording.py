"""Each front door says what to do about an error in its own words, and nobody else names its settings."""

from __future__ import annotations

import ast
import inspect
import logging
import pickle
import re
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, NoReturn

import pytest

import kinesis_consumer
import kinesis_core
import kinesis_credentials
import spark_kinesis_sink
from docs.generate_errors import PACKAGES, errors_of
from kinesis_cli import main
from kinesis_cli.app import COMMANDS as NAMES_OF_COMMANDS, make_app
from kinesis_cli.ending import CommandError, Status
from kinesis_cli.wording import COMMANDS
from kinesis_consumer.words import GROUPS
from kinesis_core import KinesisError, PlanSettings, ReadSettings, Stream
from kinesis_core.options import SPARK, aliases_of
from kinesis_credentials import Advice
from kinesis_credentials.advice import PLAIN, Setting
from spark_kinesis_sink.options import SINK_OPTIONS
from spark_kinesis_source.options import SOURCE_OPTIONS
from support.scripted_stream import scripted_stream
from support.sources import TREES, is_within


def texts_of(package: str) -> Iterator[tuple[str, int, str]]:
    """Yield the texts of all modules of *package*, each with its module and line. A value in a text is shown as `{}`."""
    for module, tree in TREES.items():
        if is_within(module, package):
            yield from ((module, line, text) for line, text in _texts(tree))


def _texts(tree: ast.AST) -> Iterator[tuple[int, str]]:
    if isinstance(tree, ast.Expr) and isinstance(tree.value, ast.Constant):
        return  # a docstring
    if isinstance(tree, ast.JoinedStr | ast.Constant):
        text = _text(tree)
        if " " in text:
            yield tree.lineno, text
        return
    for child in ast.iter_child_nodes(tree):
        yield from _texts(child)


def _text(tree: ast.expr) -> str:
    if isinstance(tree, ast.JoinedStr):
        return "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in tree.values)  # type: ignore[misc]
    return tree.value if isinstance(tree, ast.Constant) and isinstance(tree.value, str) else ""


VOCABULARIES = {"Python": PLAIN, "a consumer group": GROUPS, "Spark": SPARK, "the command line": COMMANDS}
OF_SPARK = {"addPyFile", "checkpointLocation", "pyFiles", "sparkContext"}
"""What Spark's own options and methods are called. Ours are in the tables."""
FOR_SPARK = {
    "kinesis_core.aws.permissions": "declares calls for the documentation",
    "kinesis_core.events": "declares events for the documentation",
    "kinesis_core.for_spark": "is a part of Spark's front door",
    "kinesis_core.options": "is a part of Spark's front door",
    "kinesis_core.reading.columns": "declares columns for the documentation",
}
"""What may name options of Spark in the packages below it, and why."""
CAMEL_CASE, SNAKE_CASE = re.compile(r"\b[a-z]+[A-Z]\w*"), re.compile(r"\b[a-z]+(?:_[a-z]+)+\b")
CLASS, FLAG = re.compile(r"\b(?:[A-Z][a-z]+){2,}\b"), re.compile(r"--[a-z-]+")


OPTIONS = (*SOURCE_OPTIONS.options, *SINK_OPTIONS.options)
OWN_NAMES = {option.name for option in OPTIONS} | OF_SPARK
ALL_NAMES = OWN_NAMES | {alias.name.rpartition(".")[2] for option in OPTIONS for alias in aliases_of(option)}
"""Also those of other connectors."""


def public_names(*packages: ModuleType) -> set[str]:
    """Return what *packages* export, and the arguments of all of that and of its methods."""
    found = set()
    for package in packages:
        for name in package.__all__:
            value = getattr(package, name)
            methods = vars(value).values() if inspect.isclass(value) else ()
            found.add(name)
            for each in (value, *(getattr(method, "__func__", method) for method in methods)):
                if callable(each):
                    found.update(_parameters(each))
    return found


def _parameters(function: Callable[..., object]) -> Iterator[str]:
    try:
        yield from inspect.signature(function).parameters
    except (TypeError, ValueError):  # it has none
        return


def flags() -> set[str]:
    app = make_app()
    commands = [app[name] for group in NAMES_OF_COMMANDS.values() for name in group]
    return {
        name for command in commands for each in command.assemble_argument_collection() for name in each.names
    }


PYTHON = public_names(kinesis_core, kinesis_credentials)
EXISTING = {
    "Spark": {CAMEL_CASE: OWN_NAMES, SNAKE_CASE: set[str](), CLASS: set[str](), FLAG: set[str]()},
    "Python": {CAMEL_CASE: set[str](), SNAKE_CASE: PYTHON, CLASS: PYTHON, FLAG: set[str]()},
    "a consumer group": {
        CAMEL_CASE: set[str](),
        SNAKE_CASE: (names := public_names(kinesis_consumer, kinesis_credentials)),
        CLASS: names | {"WireFormat"},
        FLAG: set[str](),
    },
    "the command line": {CAMEL_CASE: set[str](), SNAKE_CASE: set[str](), CLASS: set[str](), FLAG: flags()},
}
"""The names that exist at each front door, by how they are written."""
OURS = [
    each
    for package in (kinesis_core, kinesis_credentials, kinesis_consumer, spark_kinesis_sink)
    for each in errors_of(package)
    if issubclass(each, KinesisError)
]


@pytest.mark.parametrize("door", VOCABULARIES)
@pytest.mark.parametrize("setting", Setting)
def test_every_setting_has_a_name(door: str, setting: Setting) -> None:
    """An advice may name any setting at any front door."""
    assert VOCABULARIES[door].names[setting] is not None


@pytest.mark.parametrize("door", VOCABULARIES)
@pytest.mark.parametrize("advice", Advice)
def test_every_advice_is_said_in_names_that_exist(door: str, advice: Advice) -> None:
    """Each front door says each advice, or nothing. It names only what it has: options, arguments, or flags."""
    said = VOCABULARIES[door].say(advice)
    for written, existing in EXISTING[door].items():
        assert set(written.findall(said)) <= existing
    assert "{" not in said
    assert not said.startswith(" ")


@pytest.mark.parametrize(
    "package", ["kinesis_credentials", "kinesis_core", "kinesis_consumer", "kinesis_cli"]
)
def test_no_text_names_an_option_of_spark(package: str) -> None:
    """All texts but those of Spark's front door are free of its options. A name in small letters, such as `region`, is a word."""
    names = {name for name in ALL_NAMES if name != name.lower()}
    named = [
        (module, line, text)
        for module, line, text in texts_of(package)
        if names & set(re.findall(r"\w+", text)) and not any(is_within(module, each) for each in FOR_SPARK)
    ]
    assert not named


def test_no_error_explains_itself_by_an_option_of_spark() -> None:
    """The page of errors is made of their docstrings, and is for all front doors."""
    assert not [each for each in OURS if CAMEL_CASE.findall(each.__doc__ or "")]


def is_required(parameter: inspect.Parameter) -> bool:
    return parameter.default is parameter.empty and parameter.kind is parameter.POSITIONAL_OR_KEYWORD


@pytest.mark.parametrize("error", OURS, ids=lambda error: error.__name__)
def test_errors_travel(error: type[KinesisError]) -> None:
    """A pickled error says the same, in the words of its front door, and has the same attributes."""
    parameters = inspect.signature(error).parameters.values()
    empty: dict[str, Any] = {"counts": {}, "attempts": ()}
    required: list[Any] = [empty.get(each.name, "It failed.") for each in parameters if is_required(each)]
    sent = error(*required)
    sent.advice, sent.where, sent.words = (Advice.CHECK_STREAM, "Or wait."), {"stream": "orders"}, SPARK
    came = pickle.loads(pickle.dumps(sent))  # noqa: S301 # our own
    assert str(came).endswith(
        "Check streamName or streamARN, the region, the account and endpointUrl. Or wait. [stream=orders]"
    )
    assert (type(came), str(came)) == (error, str(sent))
    assert {**vars(came), "words": SPARK} == vars(sent)


def test_an_error_speaks_the_words_of_the_command_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is one line."""
    error = KinesisError("There is\nno such stream.", advice=Advice.CHECK_STREAM, stream="orders")
    assert run_with(monkeypatch, error) == Status.FAILED
    shown = "There is no such stream. Check the stream's name or ARN, the region, the account and --endpoint-url. [stream=orders]"
    assert capsys.readouterr().err == f"kinesis tail: {shown}\n"


def test_what_the_user_typed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """It stays as it is, also where it looks like a setting."""
    run_with(monkeypatch, CommandError("my endpointUrl.json does not exist."))
    assert capsys.readouterr().err == "kinesis tail: my endpointUrl.json does not exist.\n"


def test_a_loss(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """No command goes on after a loss. The advice is where to begin."""
    shard = "shardId-000000000000"
    fake = scripted_stream(1)
    fake.put_many(shard, 3)
    stream = Stream("orders", "eu-west-1", "orders", fake, PlanSettings(), ReadSettings(), fake.clock)
    offset = stream.read("TRIM_HORIZON").offset
    fake.put_many(shard, 3)
    fake.clock.now += 25 * 3600
    fake.trim(shard, 6)
    with pytest.raises(kinesis_core.DataLossError, match="fail_on_data_loss=False") as lost:
        stream.read(offset)
    assert run_with(monkeypatch, lost.value) == Status.INCOMPLETE
    assert (
        "retention only keeps the remaining records. Begin later, with --since. [" in capsys.readouterr().err
    )


def test_warnings(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Warnings of the core are lines as well."""

    def warn(**_: object) -> Callable[[object], None]:
        return lambda _: logging.getLogger("kinesis_core").warning("It\nis %s.", "slow")

    monkeypatch.setattr(logging.getLogger(), "handlers", [])  # as in a new process
    monkeypatch.setattr("kinesis_cli.app.make_app", warn)
    assert main.main(["put"]) == Status.DONE
    assert capsys.readouterr().err == "kinesis put: It is slow.\n"


def run_with(monkeypatch: pytest.MonkeyPatch, error: Exception) -> int:
    """Run a command that fails with *error*, and return its exit status."""

    def fail(**_: object) -> NoReturn:
        raise error

    monkeypatch.setattr("kinesis_cli.app.make_app", fail)
    return main.main(["tail"])


def test_no_text_shows_the_name_of_a_constant() -> None:
    """A text that lacks its f shows the names of constants instead of their values."""
    packages = {package.__name__ for package in PACKAGES}
    assert [
        found for each in packages for found in texts_of(each) if re.search(r"\{_?[A-Z]\w+\}", found[2])
    ] == []
