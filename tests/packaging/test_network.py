"""Who opens connections, and what is made of what they bring: code is never among it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

TALKS = {
    *("asyncio", "ftplib", "http", "imaplib", "poplib", "smtplib", "socket", "socketserver", "ssl"),
    *("urllib.request", "xmlrpc", "multiprocessing", "subprocess"),
    *("aiohttp", "h2", "httpx", "httpx2", "requests", "urllib3"),
}
"""Modules that open connections, or start what may."""
UNSAFE = {"dill", "cloudpickle", "copyreg", "marshal", "pickle", "ruamel", "shelve", "yaml"}
"""Modules that make objects, and so calls, of bytes. What Spark pickles of ours needs none of them here."""
MAY_TALK = {
    # To the endpoint that botocore has chosen and signed for, which is that of `endpointUrl` where it is given.
    "kinesis_core/aws/http2.py": {"h2.exceptions", "httpx2", "ssl"},
    # What botocore's own session raises while a body is read.
    "kinesis_core/aws/subscriptions.py": {"urllib3.exceptions"},
    # On connections that botocore's session has opened, and none else.
    "kinesis_core/aws/direct_transport.py": {"ssl", "urllib3.exceptions"},
    # The servers themselves, on the loopback interface, and the processes that run them for a test.
    "kinesis_emulator/server.py": {"socket", "socketserver"},
    "kinesis_emulator/child.py": {"subprocess"},
    "kinesis_emulator/canned/server.py": {"socket", "ssl"},
    "kinesis_emulator/canned/__main__.py": {"ssl"},
    "kinesis_emulator/canned/process.py": {"ssl", "urllib.request"},
}
"""Everything else goes through botocore's clients."""
MAY_IMPORT_BY_NAME = {
    "kinesis_credentials/sources.py",  # the class that the user names in `credentialProviderClass`
    "kinesis_core/for_spark.py",  # our own modules, when Spark has need of them
}
ADDRESS = re.compile(r"[a-z]+://\S+|\d+\.\d+\.\d+\.\d+(:\d+)?")
RUNS_CODE = {"eval", "exec", "__import__", "import_module"}


def imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Import(names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=str(module), names=names):
                yield module
                yield from (f"{module}.{alias.name}" for alias in names if module in {"urllib"})


def calls(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
                yield name


def is_one_of(name: str, modules: set[str]) -> bool:
    return any(name == module or name.startswith(f"{module}.") for module in modules)


@pytest.fixture(scope="module")
def sources(folders: dict[str, Path]) -> dict[str, ast.Module]:
    """All modules that are published, by their path."""
    found = {}
    for folder in folders.values():
        for path in sorted((folder / "src").rglob("*.py")):
            found[path.relative_to(folder / "src").as_posix()] = ast.parse(path.read_text(encoding="utf-8"))
    return found


def test_connections_are_botocores(sources: dict[str, ast.Module]) -> None:
    """Nothing but botocore's clients, HTTP/2 to the same endpoint and the emulator itself opens a connection."""
    talking = {
        path: {name for name in imports(tree) if is_one_of(name, TALKS)} for path, tree in sources.items()
    }
    assert {path: names for path, names in talking.items() if names} == MAY_TALK


def test_nothing_makes_objects_of_bytes(sources: dict[str, ast.Module]) -> None:
    """No module of ours unpickles, unmarshals or loads YAML: what comes in is JSON, protobuf and event-stream frames."""
    assert not {path for path, tree in sources.items() for name in imports(tree) if is_one_of(name, UNSAFE)}


def test_code_runs_by_name_where_users_say_so(sources: dict[str, ast.Module]) -> None:
    """Nothing is evaluated, and nothing imported by a name but a user's own class and our own modules."""
    found = {path for path, tree in sources.items() if RUNS_CODE & set(calls(tree))}
    assert found == MAY_IMPORT_BY_NAME


def test_no_address_is_written_into_a_package(sources: dict[str, ast.Module]) -> None:
    """The only address to call in any module is the emulator's own: others come from options and from botocore."""
    nodes = [node for tree in sources.values() for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    texts = {node.value for node in nodes if isinstance(node.value, str)}
    assert {text for text in texts if ADDRESS.fullmatch(text)} == {"127.0.0.1"}
