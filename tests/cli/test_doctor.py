"""`circumspect doctor`: every setting, where it came from, what is wrong; and it works when everything is."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
import sqlite3
import ssl
import subprocess
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from tests.knowledge.embeddings import Answers, embeddings
from tests.patience import PATIENCE
from tests.stores import postgres_server

from circumspect.cli import doctor_checks
from circumspect.cli.doctor_checks import run_checks
from circumspect.server.config import Settings

SECRET = "s" * 32


@pytest.fixture
def port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        number: int = free.getsockname()[1]
        return number


def seen(run, *arguments: str) -> tuple[int, dict[str, dict[str, Any]], dict[str, Any]]:
    """Exit code, checks by name, settings by name."""
    ran = run("doctor", "--json", *arguments)
    told = json.loads(ran.out)
    assert ran.err == ""
    assert told["ok"] is (ran.code == 0)
    return ran.code, {one["check"]: one for one in told["checks"]}, {one["name"]: one for one in told["settings"]}


async def found(name: str, **settings: Any) -> doctor_checks.DoctorFinding | None:
    return next((one for one in await run_checks(Settings(**settings), online=False) if one.check == name), None)


def test_with_nothing_set_nothing_is_wrong_and_nothing_is_made(run, folder, port):
    shutil.rmtree(folder / ".circumspect")
    ran = run("doctor", "--port", str(port))
    assert ran.code == 0
    assert "Nothing is wrong." in ran.out
    for name in Settings.model_fields:
        assert f"\n{name} " in ran.out
    assert list(folder.iterdir()) == []


def test_every_setting_says_where_it_came_from(run, folder, port, monkeypatch):
    (folder / "circumspect.toml").write_text("workers = 2\n")
    monkeypatch.setenv("CIRCUMSPECT_LOG_LEVEL", "debug")
    _, _, settings = seen(run, "--port", str(port))
    assert set(settings) == set(Settings.model_fields)
    assert {name: settings[name]["origin"] for name in ("workers", "log_level", "port", "host")} == {
        "workers": "file", "log_level": "environment", "port": "option", "host": "default"
    }  # fmt: skip
    assert "file circumspect.toml" in run("doctor").out


def test_it_works_when_everything_is_wrong_and_shows_no_secret(run, folder, monkeypatch):
    (folder / "circumspect.toml").write_text('prot = 1\nsession_hours = "long"\n')
    wrong = {
        "DATABASE": "postgresql://u:hunter2@127.0.0.1:1/db?connect_timeout=2",
        "REDIS": "redis://:hunter2@127.0.0.1:1",
        "MODEL": "openai:gpt-4o",
        "SMTP_URL": "smtp://u:hunter2@127.0.0.1:1",
        "MAIL_FROM": "shop@example.org",
        "HOST": "203.0.113.7",
        "PROT": "1",
        "WORKERS": "many",
        "SECRET_KEY": "hunter2",
    }
    for name, value in wrong.items():
        monkeypatch.setenv(f"CIRCUMSPECT_{name}", value)
    code, told, settings = seen(run)
    assert code == 1
    states = {name: one["state"] for name, one in told.items()}
    assert states == {
        "settings": "wrong", "environment": "warning", "folder": "ok", "database": "wrong", "redis": "wrong",
        "model": "wrong", "secret key": "wrong", "mail": "wrong", "port": "wrong",
    }  # fmt: skip
    assert all(one["fix"] for one in told.values() if one["state"] != "ok")
    assert settings["workers"]["problem"]
    ran = run("doctor")
    assert ran.code == 1
    assert "Traceback" not in ran.out + ran.err
    assert "hunter2" not in ran.out + ran.err + json.dumps([told, settings])
    for word in ("prot in circumspect.toml", "did you mean CIRCUMSPECT_PORT?", "OPENAI_API_KEY", "session_hours in"):
        assert word in ran.out


def test_a_file_that_is_no_toml_and_one_that_is_not_there_are_told(run, folder, port):
    (folder / "circumspect.toml").write_text("= =")
    assert "not TOML" in seen(run, "--port", str(port))[1]["settings"]["said"]
    assert "no such file" in seen(run, "--config", "gone.toml", "--port", str(port))[1]["settings"]["said"]


def test_a_check_that_fails_by_itself_stops_no_other(run, port, monkeypatch):
    async def failing(settings, online):
        raise ZeroDivisionError("hunter2")

    monkeypatch.setitem(doctor_checks.CHECKS, "folder", failing)
    code, told, _ = seen(run, "--port", str(port))
    assert (code, told["folder"]["state"]) == (1, "wrong")
    assert "ZeroDivisionError" in told["folder"]["said"]
    assert "hunter2" not in told["folder"]["said"]
    assert told["database"]["state"] == "ok"


def test_without_the_servers_packages_it_says_which_to_install(folder):
    """In a process of its own, where one of them cannot be imported."""
    import sys

    code = (
        "import sys; sys.modules['pydantic_settings'] = None;"
        "from circumspect.cli import main; sys.argv[1:] = ['doctor']; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 2
    assert "circumspect[server]" in done.stderr
    assert "Traceback" not in done.stderr


# --- database, clock, folder ----------------------------------------------------------------------------------------


def test_an_old_schema_is_told_and_left_alone(run, folder, port):
    path = folder / ".circumspect" / "circumspect.db"
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '0001'")
    connection.close()
    code, told, _ = seen(run, "--port", str(port))
    assert (code, told["database"]["state"]) == (1, "wrong")
    assert "Use another database" in told["database"]["fix"]
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT version_num FROM alembic_version").fetchall() == [("0001",)]
    connection.close()


def test_a_file_that_is_no_database_is_told(run, folder, port):
    (folder / "notes.txt").write_text("not a database " * 100)
    assert "not a SQLite database" in seen(run, "--database", "notes.txt", "--port", str(port))[1]["database"]["said"]
    assert (folder / "notes.txt").read_text().startswith("not a database")


async def test_many_workers_on_one_file_are_warned_of(folder):
    one = await found("database", workers=4)
    assert one.state == "warning"
    assert "PostgreSQL" in one.fix
    assert (await found("redis", workers=4)).state == "warning"
    assert await found("redis") is None


def test_a_folder_that_cannot_be_written_to_is_told(run, folder, port):
    (folder / "file").write_text("")
    told = seen(run, "--database", "sqlite:///file/store.db", "--port", str(port))[1]
    assert told["folder"]["state"] == "wrong"


@pytest.mark.postgres
def test_a_clock_that_is_off_is_told_and_one_that_is_right_is_not(monkeypatch):
    import time

    try:
        with postgres_server.running() as server:
            url = server.url("postgres")
            assert asyncio.run(found("clock", database=url, secret_key=SECRET)).state == "ok"
            assert "db upgrade" in asyncio.run(found("database", database=url, secret_key=SECRET)).fix
            now = time.time
            monkeypatch.setattr(doctor_checks.time, "time", lambda: now() + 5)
            off = asyncio.run(found("clock", database=url, secret_key=SECRET))
            assert off.state == "wrong"
            assert "5.0 s apart" in off.said or "4.9 s apart" in off.said
    except postgres_server.NoPostgres as reason:
        pytest.skip(f"NOT TESTED ON POSTGRESQL: {reason}")


# --- keys -----------------------------------------------------------------------------------------------------------


async def test_the_secret_key_is_found_missed_and_kept_from_others(folder):
    file = folder / ".circumspect" / "secret.key"
    assert "is made when the server starts" in (await found("secret key")).said
    file.write_text(SECRET)
    file.chmod(0o644)
    open_ = await found("secret key")
    assert (open_.state, open_.fix) == ("wrong", "chmod 600 .circumspect/secret.key")
    file.chmod(0o600)
    assert (await found("secret key")).state == "ok"
    file.write_text("short")
    assert (await found("secret key")).state == "wrong"
    assert (await found("secret key", database="postgresql://127.0.0.1:1/x")).state == "wrong"
    assert (await found("secret key", database="postgresql://127.0.0.1:1/x", secret_key=SECRET)).state == "ok"


async def test_a_model_is_asked_only_online(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-hunter2")
    offline = await found("model", model="openai:gpt-4o@http://127.0.0.1:1/v1")
    assert offline.state == "ok"
    assert "--online" in offline.said
    online = await run_checks(Settings(model="openai:gpt-4o@http://127.0.0.1:1/v1"), online=True)
    (asked,) = [one for one in online if one.check == "model"]
    assert asked.state == "wrong"
    assert "raise model_seconds" in asked.fix
    assert "hunter2" not in asked.said + asked.fix
    assert (await found("model", model="nonsense")).state == "wrong"


# --- what is reached over the network -------------------------------------------------------------------------------


async def test_a_redis_that_answers_is_fine(tmp_path_factory):
    program = shutil.which("redis-server")
    if program is None:
        pytest.skip("NOT TESTED WITH REDIS: redis-server is not installed; run `make services`")
    folder = tmp_path_factory.mktemp("r")
    process = subprocess.Popen(
        [program, "--port", "0", "--unixsocket", str(folder / "s"), "--save", "", "--dir", str(folder)],
        stdout=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        async with asyncio.timeout(PATIENCE):
            while not (folder / "s").exists():
                await asyncio.sleep(0.01)
        assert (await found("redis", redis=f"unix://{folder / 's'}")).state == "ok"
    finally:
        process.kill()
        process.wait()


@contextmanager
def mail_server(*answers: bytes):
    """Speaks just enough SMTP: a greeting, then one answer a line."""
    listening = socket.create_server(("127.0.0.1", 0))
    heard: list[bytes] = []

    def serve() -> None:
        connection, _ = listening.accept()
        with connection, connection.makefile("rwb") as talk:
            talk.write(b"220 mail.test\r\n")
            talk.flush()
            for answer in answers:
                heard.append(talk.readline())
                talk.write(answer)
                talk.flush()
            heard.append(talk.readline())

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield listening.getsockname()[1], heard
    finally:
        thread.join(PATIENCE)
        listening.close()


async def test_a_mail_server_is_spoken_to_and_sent_nothing():
    with mail_server(b"250 mail.test\r\n", b"250 ok\r\n", b"221 bye\r\n") as (port, heard):
        one = await found("mail", smtp_url=f"smtp://127.0.0.1:{port}", mail_from="shop@example.org")
    assert one.state == "ok"
    assert [line.split()[0].lower() for line in heard if line.strip()] == [b"ehlo", b"noop", b"quit"]


async def test_a_mail_server_that_refuses_the_password_is_told_without_it():
    with mail_server(b"250-mail.test\r\n250 AUTH PLAIN\r\n", b"535 no\r\n", b"221 bye\r\n") as (port, _):
        one = await found("mail", smtp_url=f"smtp://u:hunter2@127.0.0.1:{port}", mail_from="shop@example.org")
    assert one.state == "wrong"
    assert "does not let us in" in one.said
    assert "hunter2" not in one.said + one.fix
    assert (await found("mail", smtp_url="smtp://127.0.0.1:1")).fix.startswith("Set mail_from")
    assert ssl.create_default_context().verify_mode == ssl.CERT_REQUIRED


class Healthy(BaseHTTPRequestHandler):
    status = 200

    def do_GET(self) -> None:
        self.send_response(self.status)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


async def test_a_port_is_free_ours_or_somebody_elses(port, monkeypatch):
    assert (await found("port", port=port)).state == "ok"
    with HTTPServer(("127.0.0.1", port), Healthy) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            assert "answers" in (await found("port", port=port)).said
            monkeypatch.setattr(Healthy, "status", 404)
            taken = await found("port", port=port)
            assert (taken.state, taken.fix) == ("wrong", "Choose another with --port.")
        finally:
            server.shutdown()
            thread.join()
    assert (await found("port", port=port, host="203.0.113.7")).state == "wrong"


async def test_a_price_that_is_not_used_is_told() -> None:
    assert await found("model prices") is None
    assert (await found("model prices", model_prices=("qwen=0.4/1.2",))).state == "ok"
    unused = await found("model prices", model_prices=("qwen=0.4/1.2", "offline=3/15"))
    assert (unused.state, "offline is not used" in unused.said) == ("warning", True)


async def test_the_receivers_of_the_log_are_looked_at_as_the_server_does() -> None:
    assert await found("log receivers") is None
    missing = await found("log receivers", log_webhook="https://x.example")
    assert (missing.state, "CIRCUMSPECT_LOG_WEBHOOK_SECRET" in missing.fix) == ("wrong", True)
    fine = await found("log receivers", log_webhook="https://x.example", log_webhook_secret="not-shown")
    assert (fine.state, "not-shown" in f"{fine}") == ("ok", False)


async def test_a_search_that_cannot_be_had_is_told_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TAVILY_API_KEY", raising=False)
    assert await found("search") is None
    wrong = await found("search", search="tavily")
    assert wrong is not None
    assert wrong.state == "wrong"
    assert "TAVILY_API_KEY" in wrong.fix
    fine = await found("search", search="tavily", search_key="tvly-not-shown")
    assert fine is not None
    assert fine.state == "ok"
    assert "not-shown" not in f"{fine}"


async def test_an_embeddings_model_is_asked_only_online(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert await found("embeddings") is None
    keyless = await found("embeddings", embeddings="openai:text-embedding-3-small")
    assert (keyless.state, keyless.fix) == ("wrong", "Set OPENAI_API_KEY.")
    with embeddings() as url:
        assert "--online" in (await found("embeddings", embeddings=f"openai:small@{url}")).said
        assert Answers.seen == []
        for model, state in (("small", "ok"), ("unknown", "wrong"), ("garbled", "wrong")):
            asked = await run_checks(Settings(embeddings=f"openai:{model}@{url}"), online=True)
            (said,) = [one for one in asked if one.check == "embeddings"]
            assert said.state == state, said
            assert state == "wrong" or "2 numbers" in said.said


def test_files_that_everybody_can_read_are_named_and_left(run, folder):
    path = folder / ".circumspect" / "circumspect.db"
    path.chmod(0o644)
    ran = run("doctor", "--port", "0", "--json")
    (found,) = [one for one in json.loads(ran.out)["checks"] if one["check"] == "files"]
    assert found["state"] == "warning"
    assert "circumspect.db" in found["said"]
    assert "chmod 600" in found["fix"]
    assert path.stat().st_mode & 0o777 == 0o644
    path.chmod(0o600)
    assert "Every user" not in run("doctor", "--port", "0").out


def test_what_a_command_writes_is_its_owners(run, folder):
    before = os.umask(0o022)
    try:
        assert run("db", "upgrade", "--database", "sqlite:///new/own.db").code == 0
        called = {"id": "1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        talk = {"id": "c1", "messages": [{"role": "assistant", "content": "", "tool_calls": [called]}]}
        (folder / "talk.jsonl").write_text(json.dumps(talk) + "\n")
        ran = run("policy", "init", "talk.jsonl", "--out", "drafted.yaml")
        assert ran.code == 0, ran.err
    finally:
        os.umask(before)
    for name in ("new/own.db", "drafted.yaml"):
        assert (folder / name).stat().st_mode & 0o077 == 0, name
