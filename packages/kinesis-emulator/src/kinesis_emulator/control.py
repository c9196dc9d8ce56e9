"""The control endpoint, for tests in other languages: methods of `Emulator` in JSON, on the port of the service, below `/_control/`."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Mapping
from inspect import Parameter, signature
from types import UnionType
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin, get_type_hints

from kinesis_emulator.errors import AwsError
from kinesis_emulator.faults import FaultScript, RandomFaults, Step
from kinesis_emulator.limits import Limits
from kinesis_emulator.settings import Settings

if TYPE_CHECKING:
    from kinesis_emulator.emulator import Emulator

PREFIX = "/_control/"
_NOT_JSON = ("fault", "jitter")
"""Fields of `Settings` that are functions and objects."""


class BadMemberError(Exception):
    """A member of a request that is missing, unknown or wrong. The text names it."""


class Control:
    """The commands on *emulator*: each one is a public method, whose parameters are the members of its request."""

    def __init__(self, emulator: Emulator) -> None:
        self._emulator = emulator

    def create(self, stream: str, shards: int = 1) -> dict[str, Any]:
        """Create a stream that is ACTIVE at once."""
        if not 1 <= shards <= _MOST_SHARDS:
            raise BadMemberError(f"shards must be 1 to {_MOST_SHARDS}; got {shards}.")
        self._emulator.create_stream(stream, shards)
        return {"shard_ids": self._emulator.shard_ids(stream)}

    def split(self, stream: str, shard_id: str, new_starting_hash_key: str | None = None) -> dict[str, Any]:
        """Split a shard, by default in the middle."""
        start = new_starting_hash_key
        if start is not None and not _HASH_KEY.fullmatch(start):
            raise BadMemberError(f"new_starting_hash_key must be a number in a string; got {start!r}.")
        return {"shard_ids": self._emulator.split(stream, shard_id, None if start is None else int(start))}

    def merge(self, stream: str, shard_id: str, adjacent_shard_id: str) -> dict[str, Any]:
        """Merge two shards with adjacent hash keys, the lower ones first."""
        return {"shard_id": self._emulator.merge(stream, shard_id, adjacent_shard_id)}

    def trim(self, stream: str, shard_id: str, records: int) -> dict[str, Any]:
        """Remove the oldest records of a shard, as if they had expired."""
        self._emulator.trim(stream, shard_id, records)
        return {}

    def status(
        self,
        stream: str,
        status: Literal["CREATING", "UPDATING", "DELETING"],
        seconds: float,
        settling_seconds: float = 0.0,
    ) -> dict[str, Any]:
        """Let a stream be in a status from now on."""
        for name, value in (("seconds", seconds), ("settling_seconds", settling_seconds)):
            _check_time(name, value)
        self._emulator.set_status(stream, status, seconds, settling_seconds)
        return {}

    def faults(
        self, steps: list[Step] | None = None, share: float | None = None, seed: int = 0
    ) -> dict[str, Any]:
        """Use a script of faults, or a share of random ones; without members no faults."""
        if steps is not None and share is not None:
            raise BadMemberError("steps and share cannot be given together.")
        fault: FaultScript | RandomFaults | None = None
        if steps is not None:
            fault = FaultScript(*steps)
        elif share is not None:
            try:
                fault = RandomFaults(seed, share)
            except ValueError as error:
                raise BadMemberError(str(error)) from None
        self._emulator.settings.fault = fault
        return {}

    def advance(self, seconds: float) -> dict[str, Any]:
        """Move the emulator's clock on."""
        _check_time("seconds", seconds)
        self._emulator.advance(seconds)
        return {}

    def settings(self, **changed: Any) -> dict[str, Any]:
        """Change fields of `Settings`, and return all. `limits` holds fields of `Limits`; its other fields stay."""
        settings = self._emulator.settings
        if "limits" in changed:
            wanted = _build(get_type_hints(Limits), (), changed["limits"], "limits.")
            changed["limits"] = dataclasses.replace(settings.limits, **wanted)
        for name, value in changed.items():
            setattr(settings, name, value)
        shown = {name: getattr(settings, name) for name in _SETTINGS}
        return {**shown, "limits": dataclasses.asdict(settings.limits), "deny": sorted(settings.deny)}

    def calls(self) -> dict[str, Any]:
        """Return the number of calls of each operation."""
        return self._emulator.calls.by_action()

    def clear(self) -> dict[str, Any]:
        """Remove all streams, settings of accounts and faults, and set the counts of calls to zero."""
        self._emulator.clear()
        return {}


COMMANDS: Mapping[str, Callable[..., dict[str, Any]]] = {
    name: command for name, command in vars(Control).items() if not name.startswith("_")
}
_SETTINGS = {name: kind for name, kind in get_type_hints(Settings).items() if name not in _NOT_JSON}
_HASH_KEY = re.compile(r"[0-9]{1,39}")
_MOST_SHARDS = 100_000
_LONGEST_S = 100 * 366 * 24 * 3600
_WORDS = {str: "a string", int: "an integer", float: "a number", bool: "true or false", bytes: "a string"}


def respond(emulator: Emulator, method: str, path: str, body: bytes) -> tuple[int, bytes]:
    """Carry out one request, and return the status and the JSON of its response. An error is `{"error": SENTENCE}`."""
    command = COMMANDS.get(path.removeprefix(PREFIX))
    if command is None:
        known = ", ".join(PREFIX + name for name in COMMANDS)
        return _error(404, f"There is no {path}. The commands are {known}.")
    if method != "POST":
        return _error(405, f"{path} needs POST; got {method}.")
    try:
        members = json.loads(body or b"{}")
    except ValueError as error:
        return _error(400, f"The body is not JSON: {error}.")
    try:
        return 200, json.dumps(command(Control(emulator), **_arguments(command, members))).encode()
    except (BadMemberError, AwsError) as error:
        return _error(400, str(error))


def _check_time(name: str, seconds: float) -> None:
    if not 0 <= seconds <= _LONGEST_S:
        raise BadMemberError(f"{name} must be 0 to {_LONGEST_S}; got {seconds}.")


def _error(status: int, sentence: str) -> tuple[int, bytes]:
    return status, json.dumps({"error": sentence}).encode()


def _arguments(command: Callable[..., Any], members: Any) -> dict[str, Any]:
    """Return the *members* of a request as arguments of *command*."""
    if command is Control.settings:
        return _build({**_SETTINGS, "limits": dict}, (), members, "")
    return _build(*_declared(command), members, "")


def _declared(function: Callable[..., Any]) -> tuple[dict[str, Any], list[str]]:
    """Return the parameters of a function with their types, and the names of those without a default."""
    hints = get_type_hints(function)
    parameters = [one for one in signature(function).parameters.values() if one.name != "self"]
    kinds = {one.name: hints[one.name] for one in parameters}
    return kinds, [one.name for one in parameters if one.default is Parameter.empty]


def _build(
    kinds: Mapping[str, Any], required: list[str] | tuple[str, ...], members: Any, path: str
) -> dict[str, Any]:
    """
    Return *members* as values of their *kinds*. *path* stands before their names in errors.

    Raises:
        BadMemberError: One is unknown, missing, or of another kind.
    """
    if not isinstance(members, dict):
        raise BadMemberError(f"{path.rstrip('.') or 'The body'} must be a JSON object.")
    for name in members:
        if name not in kinds:
            raise BadMemberError(f"{path}{name} is unknown. Known are {', '.join(kinds)}.")
    for name in required:
        if name not in members:
            raise BadMemberError(f"{path}{name} is missing.")
    return {name: _value(kinds[name], value, f"{path}{name}") for name, value in members.items()}


def _value(kind: Any, value: Any, path: str) -> Any:
    """Return a JSON value as one of *kind*."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        if value is None and type(None) in inner:
            return None
        return _value(next(one for one in inner if one is not type(None)), value, path)
    if origin is Literal:
        if value not in inner:
            raise BadMemberError(f"{path} must be {' or '.join(map(repr, inner))}; got {value!r}.")
        return value
    if origin in (list, tuple, set):
        if not isinstance(value, list):
            raise BadMemberError(f"{path} must be a list; got {value!r}.")
        return origin(_value(inner[0], one, f"{path}[{index}]") for index, one in enumerate(value))
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        return kind(**_build(*_declared(kind), value, f"{path}."))
    return _plain(kind, value, path)


def _plain(kind: Any, value: Any, path: str) -> Any:
    accepted = {float: (int, float), bytes: (str,)}.get(kind, (kind,))
    if not isinstance(value, accepted) or (isinstance(value, bool) and kind is not bool):
        raise BadMemberError(f"{path} must be {_WORDS.get(kind, 'a JSON object')}; got {value!r}.")
    return value.encode() if kind is bytes else value
