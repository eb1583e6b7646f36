"""Whatever a reader does, the one who asked gets an answer or a clear no, and the next reading works."""

from __future__ import annotations

import os
import socket
import sys
import threading

import psutil
import pytest
from tests.confined.bad_readers import HERE
from tests.patience import PATIENCE, wait_until

from circumspect.confined import processes
from circumspect.confined.processes import ReadingLimits, run_confined
from circumspect.errors import ConfigError

SMALL = ReadingLimits(seconds=3, megabytes=100)
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has seccomp")


def ask(reader: str, data: bytes = b"abc", limits: ReadingLimits = SMALL, **facts: object):
    return run_confined(f"{HERE}:{reader}", data, facts, what="terms.pdf", limits=limits)


@pytest.fixture(autouse=True)
def new_processes():
    yield
    processes._end_all()
    processes._idle.clear()


@pytest.mark.parametrize(
    ("reader", "problem"),
    [
        ("allocate", "terms.pdf needs more than 100 MB of memory to be read."),
        ("swallow", "terms.pdf needs more than 100 MB of memory to be read."),
        ("spin", "terms.pdf needs more than 3 s to be read."),
        ("hang", "terms.pdf needs more than 3 s to be read."),
        ("crash", "terms.pdf makes its reader fail."),
        ("fail", "terms.pdf makes its reader fail."),
        ("stop_short", "terms.pdf makes its reader fail."),
        ("flood", "terms.pdf comes to more than can be taken in."),
    ],
)
def test_a_reader_that_goes_astray_is_ended_in_words_and_replaced(reader, problem):
    before = ask("echo")["process"]
    with pytest.raises(ConfigError) as refused:
        ask(reader)
    assert refused.value.problem == problem
    assert refused.value.fix
    assert not psutil.pid_exists(before)
    assert ask("echo")["length"] == 3


def test_facts_arrive_as_they_were_said_however_odd():
    odd = {"name": "half \ud800", "number": 10**30, "nested": [{"\x00": 1e300}]}
    assert ask("spell", **odd) == ascii(odd)


def test_what_the_asking_process_takes_stays_flat_while_a_reader_takes_all_it_can_get():
    own = psutil.Process()
    ask("echo")
    before = own.memory_info().rss
    for reader in ("allocate", "flood"):
        with pytest.raises(ConfigError):
            ask(reader, limits=ReadingLimits(seconds=20, megabytes=400))
    assert own.memory_info().rss - before < 50_000_000


def test_a_process_that_did_its_work_reads_the_next_thing_too():
    first = ask("echo", "מסמך".encode(), name="מסמך.pdf")
    assert first["facts"] == {"name": "מסמך.pdf"}
    assert {ask("echo")["process"] for _ in range(5)} == {first["process"]}


def test_a_process_that_has_grown_is_replaced():
    first = ask("echo", limits=ReadingLimits())["process"]
    assert ask("grow", limits=ReadingLimits(), bytes=200_000_000)["process"] == first
    assert ask("echo", limits=ReadingLimits())["process"] != first
    wait_until(lambda: not psutil.pid_exists(first))


def test_computing_is_counted_for_each_thing_and_not_for_the_life_of_a_process():
    may, first = ask("burn", limits=ReadingLimits(), seconds=1.5)
    later, again = ask("burn", limits=ReadingLimits(), seconds=0)
    assert again == first
    assert later > may


def test_what_a_library_prints_is_no_answer():
    assert ask("chatter") == "an answer"


def test_a_large_thing_reaches_a_reader_that_does_not_take_it_and_is_given_up():
    with pytest.raises(ConfigError, match="3 s"):
        ask("hang", b"x" * 20_000_000)


def test_several_things_are_read_at_a_time_and_a_few_processes_kept():
    answers: list[int] = []
    threads = [threading.Thread(target=lambda: answers.append(ask("echo")["process"])) for _ in range(6)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(PATIENCE)
    assert len(answers) == 6
    assert len(processes._living) <= processes.KEPT


def test_an_idle_process_that_was_killed_is_replaced():
    first = ask("echo")["process"]
    psutil.Process(first).kill()
    wait_until(lambda: not psutil.pid_exists(first) or psutil.Process(first).status() == psutil.STATUS_ZOMBIE)
    assert ask("echo")["process"] != first


@LINUX
def test_a_reader_has_no_network_no_other_process_no_file_to_change_and_no_secret(tmp_path, monkeypatch):
    monkeypatch.setenv("CIRCUMSPECT_SECRET_KEY", "s" * 40)
    file = tmp_path / "kept"
    file.write_bytes(b"kept")
    with socket.create_server(("127.0.0.1", 0)) as server:
        came = ask("trespass", port=server.getsockname()[1], file=str(file))
    assert came.pop("environment") in ("", "LC_CTYPE")
    assert came.pop("read") == "done"
    assert set(came.values()) == {"PermissionError"}, came
    assert file.read_bytes() == b"kept"


def test_a_fork_does_not_talk_to_the_processes_of_its_parent():
    first = ask("echo")["process"]
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.write(write, str(len(processes._idle) + len(processes._living)).encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(read, 10) == b"0"
    os.close(read)
    os.close(write)
    assert ask("echo")["process"] == first
