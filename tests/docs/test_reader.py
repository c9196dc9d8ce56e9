"""The reader of the documentation in these tests does what a reader does, and notices what a reader would notice."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from docs.blocks import Block, Use, blocks
from docs.reader import FailedError, Reader, reader


@pytest.fixture
def person(tmp_path: Path) -> Iterator[Reader]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    with reader(tmp_path, {"HOME": str(tmp_path), "PATH": path}, tmp_path / "log") as person:
        yield person


def sh(text: str, title: str = "") -> Block:
    return Block("sh", title, text)


def cell(text: str) -> Block:
    return Block("python", "", text)


def test_a_terminal_keeps_variables_folder_and_jobs(person: Reader, tmp_path: Path) -> None:
    """What one block exports, where it goes and what it starts in the background is there for the next block."""
    person.follow(
        [sh("export TEA=assam\nmkdir shop; cd shop\nsleep 60 &\n"), sh('[ "$TEA" = assam ]\nkill %1\n')]
    )
    assert person.folder == tmp_path / "shop"


def test_programs_are_files_in_the_folder_of_the_terminal(person: Reader) -> None:
    """A block with the name of a file is that file. Cells see the variables and the folder of the terminal."""
    program = Block("python", "tea.py", "name = 'sencha'\n")
    check = "import os, tea\nassert (tea.name, os.environ['N']) == ('sencha', '2')\n"
    person.follow([sh("mkdir shop; cd shop; export N=2\n"), program, cell(check)])


def test_cells_share_their_names(person: Reader) -> None:
    """Cells run in one Python process, as in a notebook."""
    person.follow([cell("def f():\n    return n\n\n\nn = 1\n"), cell("n += 1\nassert f() == 2\n")])


def test_cells_are_compiled_as_they_are(person: Reader) -> None:
    """A cell does not get the future statements of these tests: its annotations are evaluated."""
    person.follow([cell("def f(n: int) -> int: ...\n"), cell("assert f.__annotations__['n'] is int\n")])


@pytest.mark.parametrize(
    "block", [sh("true\nfalse\ntrue\n"), cell("1 / 0\n"), cell("import sys\nsys.exit(3)\n")]
)
def test_a_failure_ends_the_page(person: Reader, block: Block) -> None:
    """A command or a cell that fails is noticed, whatever follows it."""
    with pytest.raises(FailedError, match=r"\*\*\* status"):
        person.follow([block, block])


def output(text: str) -> Block:
    return Block("text", "", text)


def test_what_a_page_shows_was_printed(person: Reader) -> None:
    """Lines that a page shows after a block were printed by it, in any order: Spark does not promise one for rows."""
    person.follow(
        [
            sh("echo one\necho other\necho 'two  '\n"),
            output("two\none\n"),
            cell(
                "print('2026-01-31 09:00:00.5', 49680470826801808999860887, 'took_s=12.5', '/tmp/work', 7)\n"
            ),
            output("2025-12-24 18:30:00,123 4968047082681 took_s=0.003 /home/you ...\n"),
            cell("print('+----------------------+\\n|arrived               |\\n|2026-01-31 09:00:00.12|')\n"),
            output("+-----------------------+\n|arrived                |\n|2025-12-24 18:30:00.123|\n"),
        ]
    )


@pytest.mark.parametrize(
    "shown", ["one\none\n", "three\n", "one \n two\n", "on\n", "1 row\n", "2 rows of 0.5\n", "sold 1.0\n"]
)
def test_another_output_is_noticed(person: Reader, shown: str) -> None:
    """A line that was not printed, or less often than shown, or elsewhere, fails the page."""
    with pytest.raises(FailedError, match="the page shows this line, and it was not printed there: "):
        person.follow(
            [sh("echo three\n"), sh("echo one\necho two\necho 2 rows of 5\necho sold 0.0\n"), output(shown)]
        )


def test_what_a_service_prints(person: Reader) -> None:
    """A service prints what its page shows, perhaps after it listens. What the page itself says does not count."""
    program = "import http.server as h, time\ns = h.HTTPServer(('127.0.0.1', 0), None)\ntime.sleep(0.2)\n"
    serve = f"{sys.executable} -uc \"{program}print('ready')\ntime.sleep(99)\" # steady\n"
    person.follow([sh(serve, "another terminal"), output("ready\n")])
    with pytest.raises(FailedError, match="it was not printed there: steady"):
        person.follow([sh("true # steady\n"), output("steady\n")])


def test_a_service_listens_on_this_machine_only(person: Reader) -> None:
    """A program that other machines can reach is refused; one on the loopback interface runs until the end."""
    serve = f"{sys.executable} -m http.server 0 --bind"
    person.follow([sh(f"{serve} 127.0.0.1\n", "another terminal")])
    with pytest.raises(FailedError, match="other machines can reach it"):
        person.follow([sh(f"{serve} 0.0.0.0\n", "another terminal")])


def test_blocks_in_tabs_and_sections(tmp_path: Path) -> None:
    """Blocks are found in tabs and lists too. What is titled "On AWS" is only read."""
    page = tmp_path / "page.md"
    page.write_text(
        '# T\n\n## Start\n\n=== "On AWS"\n\n    ```sh title="On AWS"\n    aws\n    ```\n\n```python\nx = 1\n```\n'
    )
    assert [(block.section, block.use, block.text) for block in blocks(page)] == [
        ("Start", Use.READ, "aws\n"),
        ("Start", Use.CELL, "x = 1\n"),
    ]
