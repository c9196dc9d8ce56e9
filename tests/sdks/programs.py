"""The programs of this folder, and how each of them is built. Each is given the emulator by environment variables."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from attrs import frozen

from support.installs import locked, npm_ci, require_tools, run
from support.java_programs import SDK
from support.kcl.java_process import SMALL
from support.paths import ROOT

HERE = Path(__file__).parent
CACHE = ROOT / ".nox" / "sdk-programs"  # the session has the folder sdks
CARGO = ROOT / ".nox" / "cargo"
_BUILD_S = 900.0


@frozen
class Program:
    """
    A program that makes all calls with an SDK.

    Attributes:
        title: The SDK's name, and which of its clients.
        version: The SDK's version, by the file that pins it. It is empty for boto3, whose newest version is used.
        build: Builds the program, and returns the command that runs it.
        without_tls: Why the program is not run over TLS; empty if it is.
    """

    title: str
    version: str
    build: Callable[[], list[str]]
    without_tls: str = ""


def _boto3() -> list[str]:
    return [sys.executable, str(HERE / "boto3_calls.py")]


def _node() -> list[str]:
    """Install the SDK in the cache, where the program is copied to: a module finds others only in the folders above its own."""
    folder = npm_ci("The SDK for JavaScript", HERE / "node", CACHE)
    with locked(CACHE / "node.lock"):
        shutil.copy(HERE / "node" / "calls.mjs", folder)
    return ["node", "--no-warnings", str(folder / "calls.mjs")]


def _go() -> list[str]:
    require_tools("The SDK for Go", "go")
    program = CACHE / "go" / "calls"
    # Without optimization it takes a fifth less CPU to build. Go itself knows what is built already.
    command: list[str | Path] = ["go", "build", "-gcflags=all=-N -l", "-o", program, "."]
    with locked(CACHE / "go.lock"):
        run(command, "go could not build the program", _BUILD_S, HERE / "go", {"GOTOOLCHAIN": "local"})
    return [str(program)]


def _rust() -> list[str]:
    require_tools("The SDK for Rust", "cargo")
    target = CARGO / "sdks"
    # Cargo has a lock of its own, and knows what is built already.
    run(
        ["cargo", "build", "--quiet", "--locked"],
        "cargo could not build the program",
        _BUILD_S,
        HERE / "rust",
        {"CARGO_TARGET_DIR": str(target)},
    )
    return [str(target / "debug" / "kinesis-calls")]


def _java(client: str) -> list[str]:
    return ["java", *SMALL, "-cp", SDK.install().class_path, "KinesisCalls", client]


def _pinned(file: str, pattern: str) -> str:
    """Return the version that a *file* of a program pins, which is the group of *pattern*."""
    [version] = re.findall(pattern, (HERE / file).read_text())
    return str(version)


_JAVA_TLS = "tested with the KCL"
PROGRAMS = {
    "boto3": Program("Python, boto3", "", _boto3),
    "java-sync": Program("Java v2, sync", SDK.version, lambda: _java("sync"), _JAVA_TLS),
    "java-async": Program("Java v2, async", SDK.version, lambda: _java("async"), _JAVA_TLS),
    "node": Program("JavaScript v3", _pinned("node/package.json", r'client-kinesis": "(.*)"'), _node),
    "go": Program("Go v2", _pinned("go/go.mod", r"service/kinesis v(\S+)"), _go),
    "rust": Program(
        "Rust", _pinned("rust/Cargo.toml", r'kinesis = { version = "=([\d.]+)"'), _rust, "built without it"
    ),
}
