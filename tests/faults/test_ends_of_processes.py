"""The end of a program, and the start of a forked one: threads are gone at any instruction, and a lock that one had stays taken."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from support.paths import python_path

TIMEOUT_S = 300
START = """
import atexit, os, random, sys, threading, types

at_last = []
atexit.register(lambda: [action() for action in at_last])  # what is registered first runs last, after the producers' end
from kinesis_core import Producer, ProducerClosedError
from support.fake_puts import FakePuts

# Python takes it apart at its end. What the main module has stays, if a thread still runs one of its functions.
sys.modules["kept"] = kept = types.ModuleType("kept")

def open_producer():
    return Producer(FakePuts().create(1), rng=random.Random(0))

def take_for_ever(lock):
    def take():
        with lock:
            taken.set()
            threading.Event().wait()
    taken = threading.Event()
    threading.Thread(target=take, daemon=True).start()
    taken.wait()

"""


def run(program: str) -> tuple[str, str]:
    """Return the output, and the errors, of *program*, which has to end."""
    done = subprocess.run(
        [sys.executable, "-c", START + program],
        env={**os.environ, "PYTHONPATH": python_path()},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def test_a_program_ends_without_closing_a_producer() -> None:
    """It ends also if one of the producer's threads had the lock."""
    program = """
kept.writing = open_producer()
kept.writing.put(b"data")
kept.writing.flush()
at_last.append(lambda: take_for_ever(kept.writing._sender.group.lock))
"""
    assert run(program) == ("", "")


def test_a_program_ends_in_a_block_that_writes() -> None:
    """A generator that was never finished leaves its block when Python ends. What it put is written before that."""
    program = """
puts = FakePuts().create(1)

def write():
    with Producer(puts) as writing:
        writing.put(b"data")
        yield

written = write()
next(written)
at_last.append(lambda: print(puts.copies()))
"""
    assert run(program) == ("Counter({b'data': 1})\n", "")


def test_nothing_is_put_after_the_end() -> None:
    """What is put when the producers have ended is an error, and so is what is put when Python takes itself apart."""
    program = """
writing = open_producer()
writing.put(b"data")

def put_late():
    try:
        writing.put(b"late")
    except ProducerClosedError as error:
        print(error)

class Late:
    def __del__(self):
        try:
            kept.writing.put(b"late")
        except ProducerClosedError as error:
            kept.write(1, f"{error}\\n".encode())

kept.writing, kept.write, kept.late = writing, os.write, Late()
at_last.append(put_late)
at_last.append(sys.stdout.flush)
"""
    out, err = run(program)
    assert out.splitlines()[0] == "The producer of stream orders is closed. Open a new one."
    assert err == ""


def test_a_program_ends_while_it_reads() -> None:
    """It ends also if one of the reading threads had the lock of their queue."""
    program = """
from kinesis_core.model import After, At, ShardRange
from kinesis_core.reading import PollingRangeReader, ReadSettings, read_concurrently
from support.scripted_stream import scripted_stream

stream = scripted_stream(1)
shard = stream.open_shards()[0]
stream.put_many(shard, 100)
first, *_, last = stream.shards[shard].records
polling = PollingRangeReader(lambda _: stream, ReadSettings(max_records_per_fetch=10), random.Random(0))
all_of_it = ShardRange(stream.name, shard, At(first.number), After(last.number))
kept.pages = read_concurrently([[all_of_it]], polling, 1, stream.clock)
next(kept.pages)
take_for_ever(kept.pages.gi_frame.f_locals["concurrent"]._read.mutex)
"""
    assert run(program) == ("", "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_process_waits_for_nobody() -> None:
    """It gets an error at once, also if it began while a thread had the lock, and leaves the parent's records alone."""
    program = """
writing = open_producer()
writing.put(b"data")
take_for_ever(writing._sender.group.lock)
child = os.fork()
if not child:
    for use in (lambda: writing.put(b"more"), writing.flush, writing.close):
        try:
            use()
        except ProducerClosedError as error:
            os.write(1, f"{error}\\n".encode())
    del writing, use
    os._exit(0)
assert os.waitpid(child, 0) == (child, 0)
os._exit(0)
"""
    out, err = run(program)
    assert out.count("belongs to another process. Open a producer in each process.") == 3
    assert err == ""
