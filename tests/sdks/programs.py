"""The programs of this folder, and how each of them is built. Each is given the emulator by environment variables."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from attrs import frozen

from support.installs import locked, npm_ci
from support.java_programs import SDK
from support.kcl.java_process import SMALL
from support.paths import ROOT

HERE = Path(__file__).parent
CACHE = ROOT / ".nox" / "sdks"


@frozen
class Program:
    """
    A program that makes all calls with an SDK.

    Attributes:
        title: The SDK's name, and which of its clients.
        version: The SDK's version, by the file that pins it. It is empty for boto3, whose newest version is used.
        build: Builds the program, and returns the command that runs it.
    """

    title: str
    version: str
    build: Callable[[], list[str]]


def _boto3() -> list[str]:
    return [sys.executable, str(HERE / "boto3_calls.py")]


def _node() -> list[str]:
    """Install the SDK in the cache, where the program is copied to: a module finds others only in the folders above its own."""
    folder = npm_ci("The SDK for JavaScript", HERE / "node", CACHE)
    with locked(CACHE / "node.lock"):
        shutil.copy(HERE / "node" / "calls.mjs", folder)
    return ["node", "--no-warnings", str(folder / "calls.mjs")]


def _java(client: str) -> list[str]:
    return ["java", *SMALL, "-cp", SDK.install().class_path, "KinesisCalls", client]


def _node_version() -> str:
    pinned = json.loads((HERE / "node" / "package.json").read_text())["dependencies"]
    return str(pinned["@aws-sdk/client-kinesis"])


PROGRAMS = {
    "boto3": Program("Python, boto3", "", _boto3),
    "java-sync": Program("Java v2, sync", SDK.version, lambda: _java("sync")),
    "java-async": Program("Java v2, async", SDK.version, lambda: _java("async")),
    "node": Program("JavaScript v3", _node_version(), _node),
}
