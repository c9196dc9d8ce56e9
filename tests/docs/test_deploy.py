"""What a machine without a cluster can check of the page about clusters: its Dockerfile, and what its commands install."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from docs.blocks import Block, blocks
from support.dockerfiles import findings

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
PAGE = blocks(ROOT / "docs" / "howto" / "deploy.md")
(DOCKERFILE,) = [block for block in PAGE if block.language == "dockerfile"]
BEFORE_IT = PAGE[: PAGE.index(DOCKERFILE)]
INSTALLING = [block for block in PAGE if "./packages/" in block.text]
OURS = re.compile(r"(kinesis-\w+|spark-kinesis-\w+)")


def test_dockerfile_by_hadolint() -> None:
    """hadolint, with ShellCheck for the commands in it, finds nothing in the Dockerfile of the page."""
    assert findings(DOCKERFILE.text) == ""


def test_dockerfile_copies_what_the_page_makes() -> None:
    """What it copies is a folder of wheels or a file of the page, from a block before it. What pip installs was copied."""
    made = {block.title for block in BEFORE_IT if block.is_file}
    made |= {folder for block in BEFORE_IT for folder in re.findall(r"--wheel-dir (\S+)", block.text)}
    copies = dict(re.findall(r"^COPY (\S+) (\S+)$", DOCKERFILE.text, re.MULTILINE))
    assert copies
    assert copies.keys() <= made
    (installed,) = re.findall(r"pip install .*?(/\S+)/\*\.whl", DOCKERFILE.text)
    assert installed in copies.values()


@pytest.mark.parametrize("block", INSTALLING, ids=[block.section for block in INSTALLING])
def test_packages_are_complete(block: Block) -> None:
    """A command that builds packages names folders of this repository, with every package of ours that these need."""
    projects = [
        tomllib.loads((ROOT / folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        for folder in re.findall(r"\./(packages/[\w-]+)", block.text)
    ]
    needed = {
        found[0] for project in projects for name in project["dependencies"] if (found := OURS.match(name))
    }
    assert needed
    assert needed <= {project["name"] for project in projects}
