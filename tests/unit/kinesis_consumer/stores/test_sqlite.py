"""What a table in a file does: processes share it, they may be killed or fork, and errors say what to do."""

from __future__ import annotations

import os
import pickle
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from kinesis_consumer import GroupStateError
from kinesis_consumer.stores import SqliteTable, Update
from kinesis_consumer.stores.sqlite_errors import explain
from kinesis_core.errors import OptionError, ServiceError, UnavailableError

WRITER = Path(__file__).with_name("item_writer.py")
WRITERS = 6


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "leases.db"


@contextmanager
def opened(path: Path | str, name: str = "billing", wait_s: float = 5.0) -> Iterator[SqliteTable]:
    with closing(SqliteTable(path, name, wait_s=wait_s)) as table:
        table.prepare()
        yield table


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a write transaction on the file."""
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield


class Writer:
    """A process that writes until it is killed."""

    def __init__(self, path: Path, name: str) -> None:
        self.name = name
        self.made = 0
        """How many changes it has reported."""
        self._child = subprocess.Popen(
            [sys.executable, WRITER, path, name], stdout=subprocess.PIPE, text=True
        )

    def wait_for(self, changes: int) -> None:
        """Wait until it has reported so many changes more."""
        assert self._child.stdout is not None
        for _ in range(changes):
            self.made = int(self._child.stdout.readline())

    def kill(self) -> None:
        """Kill it with signal 9, at any moment, and read what it had reported."""
        self._child.kill()
        assert self._child.stdout is not None
        if self._child.stdout.closed:
            return
        with self._child.stdout as lines:
            self.made = max([self.made, *(int(line) for line in lines if line.endswith("\n"))])
        assert self._child.wait() == -9


@pytest.mark.tests
def test_processes_that_are_killed(path: Path) -> None:
    """Processes create the file and write at once, and are killed while they write. No reported change is lost, and no other made."""
    writers = [Writer(path, f"writer-{number}") for number in range(WRITERS)]
    try:
        for writer in writers:
            writer.wait_for(1)
        for number, writer in enumerate(writers):
            writer.wait_for(5 * number)
            writer.kill()
    finally:
        for writer in writers:
            writer.kill()
    with opened(path, "counting") as table:
        [item] = table.scan()
    counts = {name: count for name, count in item.items() if name.startswith("writer-")}
    assert item["total"] == sum(counts.values())  # type: ignore[arg-type] # they are numbers
    for writer in writers:
        assert writer.made <= int(str(counts.get(writer.name, 0))) <= writer.made + 1
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_several_applications_in_one_file(path: Path) -> None:
    """Applications with any names share a file and see nothing of each other."""
    names = ["billing", "Billing", "sqlite_master", 'a"; DROP TABLE x', "", "日本", "a\u0000b"]
    for name in names:
        with opened(path, name) as table:
            assert table.create("shardId-0", {"leaseOwner": "a", "of": name})
            assert table.create(f"key of {name}", {"leaseOwner": name})
    for name in names:
        with opened(path, name) as table:
            assert len(table.scan()) == 2
            assert table.get("shardId-0") == {"leaseKey": "shardId-0", "leaseOwner": "a", "of": name}
            assert table.keys_of_owner("a") == ["shardId-0"]
            assert table.delete("shardId-0", {})


@pytest.mark.tests
def test_a_fork_with_a_child_that_writes(path: Path) -> None:
    """After a fork, parent and child use the table at the same time, also when a thread of the parent was writing at the fork."""
    with opened(path) as table:
        stop = threading.Event()

        def write() -> None:
            while not stop.is_set():
                table.update(Update("thread", {}, add={"n": 1}))

        thread = threading.Thread(target=write)
        thread.start()
        children = []
        for number in range(5):
            child = os.fork()
            if child == 0:
                for _ in range(20):
                    table.update(Update("children", {}, add={"n": 1, f"n{number}": 1}))
                os._exit(0)
            children.append(child)
        codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        stop.set()
        thread.join()
        assert codes == [0] * 5
        item = table.get("children")
        assert item is not None
        assert item["n"] == 100


def test_no_connection_is_open_during_a_fork(path: Path) -> None:
    """A child inherits no open file of the table: SQLite would take the parent's locks for its own."""
    with opened(path) as table:
        table.create("a", {})
        assert open_files(path)
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(writer, str(len(open_files(path))).encode())
            os._exit(0)
        os.waitpid(child, 0)
        assert os.read(reader, 10) == b"0"
        os.close(reader)
        os.close(writer)
        assert table.get("a") == {"leaseKey": "a"}


def open_files(path: Path) -> list[str]:
    """Return which files of the table this process has open."""
    found = []
    for descriptor in Path("/proc/self/fd").iterdir():
        try:
            target = str(descriptor.readlink())
        except OSError:  # the descriptor of the listing itself
            continue
        if target.startswith(str(path)):
            found.append(target)
    return found


def test_a_locked_file(path: Path) -> None:
    """A write that waits too long for another process fails with an error that is worth a retry. Reading needs no wait."""
    with opened(path, wait_s=0.01) as table, locked(path):
        with pytest.raises(
            UnavailableError, match=r"database is locked.*keeps a transaction open.*\[file="
        ) as caught:
            table.update(Update("a", {}, add={"n": 1}))
        assert table.scan() == []
    assert (caught.value.code, caught.value.retryable) == ("SQLITE_BUSY", True)
    assert pickle.loads(pickle.dumps(caught.value)).code == "SQLITE_BUSY"  # noqa: S301 # our own bytes


def test_a_locked_file_that_is_new(path: Path) -> None:
    """A process that prepares the file while another one has it locked waits, and fails with an error that is worth a retry."""
    with closing(SqliteTable(path, "billing", wait_s=0.05)) as table:
        with locked(path), pytest.raises(UnavailableError, match="database is locked"):
            table.prepare()
        table.prepare()


@pytest.mark.parametrize("at", ["missing/leases.db", "."])
def test_a_path_that_cannot_be_opened(tmp_path: Path, at: str) -> None:
    """A missing folder, or a folder instead of a file, is an error that names it."""
    with (
        pytest.raises(ServiceError, match=r"unable to open.*Create its folder") as caught,
        opened(tmp_path / at),
    ):
        pass
    assert (caught.value.code, caught.value.retryable) == ("SQLITE_CANTOPEN", False)
    assert str(tmp_path / at) in str(caught.value)
    assert not (tmp_path / "missing").exists()


def test_a_file_of_another_kind(path: Path) -> None:
    """A file that is no database is left as it is."""
    path.write_text("shopping list\n" * 500)
    with pytest.raises(ServiceError, match=r"not a database.*file of another kind.*leases\.db"), opened(path):
        pass
    assert path.read_text() == "shopping list\n" * 500


def test_a_damaged_file(path: Path) -> None:
    """A file whose pages are overwritten is an error that says so."""
    with opened(path) as table:
        for number in range(20):
            table.create(f"key-{number}", {"a": "x" * 1000})
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xa5" * (size - 4096))
    with pytest.raises(ServiceError, match=r"malformed.*It is damaged") as caught, opened(path) as table:
        table.scan()
    assert not caught.value.retryable


def test_a_table_of_another_version(path: Path) -> None:
    """A table with other columns is not touched."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE kinesis_consumer_items (key TEXT, item TEXT)")
    with (
        pytest.raises(GroupStateError, match=r"leases\.db has layout 0, with the columns key, item;"),
        opened(path),
    ):
        pass


def test_a_file_of_a_newer_version(path: Path) -> None:
    """It is refused, and stays as it is. The file says its version from the beginning."""
    with opened(path) as table:
        assert table.create("shardId-0", {"leaseCounter": 1})
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchall() == [(1,)]
        connection.execute("PRAGMA user_version = 2")
    with (
        pytest.raises(GroupStateError, match=r"leases\.db has layout 2.*knows layout 1,.*newer"),
        opened(path),
    ):
        pass
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchall() == [(2,)]


def test_a_database_of_another_program(path: Path) -> None:
    """Its version would be taken for that of leases. The file gets no table."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 7")
    with pytest.raises(OptionError, match=r"leases\.db is a database of another program"), opened(path):
        pass
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT count(*) FROM sqlite_master").fetchall() == [(0,)]


def test_a_malformed_item(path: Path) -> None:
    """An item that another program has overwritten is an error with the file and the application."""
    with opened(path) as table:
        table.create("a", {})
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("UPDATE kinesis_consumer_items SET item = '[]'")
        for read in (table.scan, lambda: table.get("a")):
            with pytest.raises(ServiceError, match=r"malformed item.*application=billing"):
                read()


def test_a_file_that_is_deleted_while_in_use(path: Path) -> None:
    """A worker notices that its file is another one now, and does not go on with one that nobody else can see."""
    with opened(path) as table:
        table.create("a", {})
        for file in path.parent.iterdir():
            file.unlink()
        with pytest.raises(ServiceError, match="unable to open"):
            table.get("a")
        assert not path.exists()
        with closing(sqlite3.connect(path)) as other:
            other.execute("PRAGMA application_id = 1")
        with pytest.raises(ServiceError, match=r"no such table.*deleted or replaced while in use"):
            table.update(Update("a", {}, add={"n": 1}))
        table.prepare()
        assert table.scan() == []


def test_a_file_in_a_folder_with_any_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path may be relative and have any characters. It stays the same when the process changes its folder."""
    folder = tmp_path / "50% of #1? é"
    folder.mkdir()
    monkeypatch.chdir(folder)
    with opened("a?mode=memory#.db") as table:
        monkeypatch.chdir(tmp_path)
        assert table.create("a", {})
        table.close()
        assert table.get("a") == {"leaseKey": "a"}
    assert [file.name for file in folder.iterdir()] == ["a?mode=memory#.db"]


def test_the_file_is_created_once(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The log says that the file was created, and not when it is opened again."""
    caplog.set_level("INFO", "kinesis_consumer")
    for _ in range(2):
        with opened(path):
            pass
    assert [record.getMessage() for record in caplog.records] == [f"file.created file={path}"]


@pytest.mark.parametrize(
    ("text", "code", "retryable"),
    [
        ("database or disk is full", "SQLITE_FULL", True),
        ("disk I/O error", "SQLITE_IOERR", True),
        ("attempt to write a readonly database", "SQLITE_READONLY", False),
        ("something new", "SQLITE_ERROR", False),
    ],
)
def test_errors(text: str, code: str, retryable: bool) -> None:
    """Errors where it helps to wait are retryable. All have SQLite's text, the file and advice."""
    error = explain(sqlite3.OperationalError(text), Path("/var/lib/leases.db"))
    assert (error.code, error.retryable) == (code, retryable)
    assert f"/var/lib/leases.db cannot be used: {text}. " in str(error)
