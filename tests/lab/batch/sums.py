"""A job whose chunks are numbers. Some of them raise, kill their worker, or wait; a folder remembers who did what."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from circumspect.errors import StoreError
from circumspect.lab.batch.job import BatchJob, Chunk, ChunkFunction


@dataclass(frozen=True)
class Sums:
    folder: str
    count: int = 8
    raises: tuple[int, ...] = ()
    kills: tuple[int, ...] = ()
    kills_once: tuple[int, ...] = ()
    waits: tuple[int, ...] = ()
    """Until somebody makes a file `go`."""
    refuses: tuple[int, ...] = ()
    """Until somebody makes a file `mended`."""


def job_of(order: Sums, identity: str = "of-numbers") -> BatchJob[Sums]:
    return BatchJob("sums", identity, order, begin, list_chunks)


def list_chunks(order: Sums) -> Sequence[Chunk]:
    with (Path(order.folder) / "listed").open("a") as listed:
        listed.write("x")
    return [Chunk(number, f"number {number}", 1, {"number": number}) for number in range(order.count)]


@contextmanager
def begin(order: Sums) -> Iterator[ChunkFunction]:
    folder = Path(order.folder)

    def work(chunk: Chunk) -> Sequence[bytes]:
        number = chunk.number
        with (folder / "begun").open("a") as begun:
            begun.write(f"{number}\n")
        if number in order.kills or (number in order.kills_once and not (folder / f"killed-{number}").exists()):
            (folder / f"killed-{number}").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        if number in order.raises:
            raise ZeroDivisionError(f"{number} cannot be divided")
        if number in order.refuses and not (folder / "mended").exists():
            raise StoreError("The database is away.", fix="Bring it back.")
        while number in order.waits and not (folder / "go").exists():
            time.sleep(0.01)
        return rows_of(number)

    yield work


def rows_of(number: int) -> list[bytes]:
    """Some chunks have many rows, and some have none."""
    return [f'{{"number":{number},"row":{row}}}'.encode() for row in range(number % 4 * 50)]


def all_rows(count: int, without: tuple[int, ...] = ()) -> list[bytes]:
    return [row for number in range(count) if number not in without for row in rows_of(number)]


def begun(folder: Path) -> Counter[int]:
    """How often each chunk was begun."""
    return Counter(int(line) for line in (folder / "begun").read_text().split())
