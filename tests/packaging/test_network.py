"""Which modules open connections, and that no data from outside is executed."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from support.sources import IMPORTS, TREES, is_within

CONNECTING = {
    *("asyncio", "ftplib", "http", "imaplib", "poplib", "smtplib", "socket", "socketserver", "ssl"),
    *("urllib.request", "xmlrpc", "multiprocessing", "subprocess"),
    *("aiohttp", "h2", "httpx", "httpx2", "requests", "urllib3"),
}
"""Modules that open connections, or start processes that may."""
UNSAFE = {"dill", "cloudpickle", "copyreg", "marshal", "pickle", "ruamel", "shelve", "yaml"}
"""Modules that create objects from bytes, and so can run code. Our objects that Spark pickles do not need them here."""
MAY_CONNECT = {
    # To the endpoint that botocore has chosen and signed for: that of `endpointUrl`, if given.
    "kinesis_core.aws.http2": {"h2.exceptions", "httpx2", "ssl"},
    # botocore's session raises these errors while a body is read.
    "kinesis_core.aws.subscriptions": {"urllib3.exceptions"},
    # Only on connections that botocore's session has opened.
    "kinesis_core.aws.fast.direct_transport": {"ssl", "urllib3.exceptions"},
    # Asks the Python that the user has configured for Spark whether it has our package.
    "kinesis_core.for_spark": {"subprocess"},
    # Waits for threads in tasks of the user's event loop, and opens nothing.
    "kinesis_consumer.worker.threads": {"asyncio"},
    "kinesis_consumer.handling.running": {"asyncio"},
    "kinesis_consumer.waiting": {"asyncio"},
    # Runs our own commands, which find the names that a shell completes.
    "kinesis_cli.completing": {"subprocess"},
    # Runs jq in our own file, over pipes.
    "kinesis_cli.records.programs": {"subprocess"},
    # Takes signals in textual's event loop, and opens nothing.
    "kinesis_cli.screens.app": {"asyncio"},
    # The servers, by default on the loopback interface, and the processes that run them for a test.
    "kinesis_emulator.addresses": {"socket"},
    "kinesis_emulator.endings": {"socket"},
    "kinesis_emulator.health": {"http.client", "ssl"},
    "kinesis_emulator.http1": {"socket"},
    "kinesis_emulator.http2": {
        *("h2.config", "h2.connection", "h2.errors", "h2.events", "h2.exceptions", "h2.settings"),
        *("socket", "ssl"),
    },
    "kinesis_emulator.server": {"socket", "socketserver", "ssl"},
    "kinesis_emulator.emulator": {"ssl"},
    "kinesis_emulator.tls": {"socket", "ssl"},
    "kinesis_emulator.process": {"subprocess"},
}
"""Every other module uses botocore's clients."""
MAY_IMPORT_BY_NAME = {
    "kinesis_credentials.sources",  # the class that the user names in `credentialProviderClass`
    "kinesis_core.for_spark",  # our own modules, when Spark needs them
    "kinesis_core.native",  # our own package, where it is installed
    "kinesis_credentials.lazy",  # names of our own, which each package lists
}
ADDRESS = re.compile(r"[a-z]+://\S+|\d+\.\d+\.\d+\.\d+(:\d+)?")
RUNS_CODE = {"eval", "exec", "__import__", "import_module"}


def calls(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
                yield name


def imported(modules: set[str]) -> dict[str, set[str]]:
    """Return which of *modules*, or of their parts, each published module imports."""
    found: dict[str, set[str]] = {}
    for each in IMPORTS:
        for name in (each.source, f"{each.source}.{each.name}"):
            if any(is_within(name, module) for module in modules):
                found.setdefault(each.module, set()).add(name)
                break
    return found


def test_connections_are_botocores() -> None:
    """Only botocore's clients, HTTP/2 to the same endpoint and the emulator open connections."""
    assert imported(CONNECTING) == MAY_CONNECT


def test_nothing_makes_objects_of_bytes() -> None:
    """No published module unpickles, unmarshals or loads YAML. It reads JSON, protobuf and event-stream frames."""
    assert not imported(UNSAFE)


def test_code_runs_by_name_where_users_say_so() -> None:
    """Nothing is evaluated. Only a user's own class and our own modules are imported by name."""
    found = {module for module, tree in TREES.items() if RUNS_CODE & set(calls(tree))}
    assert found == MAY_IMPORT_BY_NAME


def test_no_address_is_written_into_a_package() -> None:
    """The only address in a published module is the emulator's own. Others come from options and from botocore."""
    nodes = [node for tree in TREES.values() for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    texts = {node.value for node in nodes if isinstance(node.value, str)}
    assert {text for text in texts if ADDRESS.fullmatch(text)} == {"127.0.0.1"}
