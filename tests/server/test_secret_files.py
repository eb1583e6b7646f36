"""A secret comes from a file wherever a value may stand, and is shown nowhere."""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from circumspect.cli import cli
from circumspect.errors import CircumspectError, ConfigError
from circumspect.server.config import Settings, find_secrets, load_settings, read, render_setting

VALUES = {
    "secret_key": "hunter2-" * 5, "metrics_token": "hunter2-metrics-token", "search_key": "hunter2-search",
    "smtp_url": "smtp://u:hunter2@mail.example:587", "redis": "redis://:hunter2@127.0.0.1:1/0",
    "database": "postgresql://u:hunter2@127.0.0.1:1/db",
}  # fmt: skip


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in list(os.environ):
        if name.startswith(("CIRCUMSPECT_", "CREDENTIALS_")):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def keep(path: Path, text: str, mode: int = 0o600) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
    return path


def value_of(settings: Settings, name: str) -> str:
    found = getattr(settings, name)
    return found if isinstance(found, str) else found.get_secret_value()


def test_every_secret_is_tried_here() -> None:
    assert set(find_secrets()) >= set(VALUES)


@pytest.mark.parametrize("name", VALUES)
def test_a_variable_may_name_the_file(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"CIRCUMSPECT_{name.upper()}_FILE", str(keep(folder / "s" / "x", VALUES[name] + "\n")))
    assert value_of(load_settings(), name) == VALUES[name]
    assert read().origins[name] == "secret file"


@pytest.mark.parametrize("name", [name for name in VALUES if name != "database"])
@pytest.mark.parametrize("where", ["variable", "settings", "option"])
def test_a_value_may_point_to_the_file(name: str, where: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = f"file:{keep(folder / 's' / 'x', VALUES[name])}"
    if where == "variable":
        monkeypatch.setenv(f"CIRCUMSPECT_{name.upper()}", told)
    elif where == "settings":
        keep(folder / "circumspect.toml", f"{name} = {json.dumps(told)}\n")
    settings = load_settings(**({name: told} if where == "option" else {}))
    assert value_of(settings, name) == VALUES[name]


@pytest.mark.parametrize("name", VALUES)
def test_systemd_gives_what_nothing_else_says(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(folder / "credentials" / name, VALUES[name] + "\n", 0o400)
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(folder / "credentials"))
    assert value_of(load_settings(), name) == VALUES[name]
    other = VALUES[name].replace("hunter2", "hunter3")
    monkeypatch.setenv(f"CIRCUMSPECT_{name.upper()}", other)
    assert value_of(load_settings(), name) == other


def test_an_option_wins_over_a_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CIRCUMSPECT_DATABASE_FILE", str(keep(folder / "s" / "x", VALUES["database"])))
    assert load_settings(database="other.db").database == "other.db"


def test_both_at_once_are_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CIRCUMSPECT_SECRET_KEY", VALUES["secret_key"])
    monkeypatch.setenv("CIRCUMSPECT_SECRET_KEY_FILE", str(keep(folder / "s" / "x", VALUES["secret_key"])))
    with pytest.raises(ConfigError, match="both set"):
        load_settings()


@pytest.mark.parametrize("content", [b"", b"\n", b"\xff\xfe", b"hunter2" * 20_000, b"hunter2", None])
def test_a_file_that_holds_no_secret_is_told_without_its_content(
    content: bytes | None, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder / "secret"
    if content is not None:
        path.write_bytes(content)
    monkeypatch.setenv("CIRCUMSPECT_SECRET_KEY_FILE", str(path))
    with pytest.raises(ConfigError) as told:
        load_settings()
    assert "secret_key" in str(told.value)
    assert "hunter2" not in str(told.value)
    assert told.value.__cause__ is None


def test_a_secret_that_everybody_can_read_is_used_and_said(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    path = keep(folder / "s" / "x", VALUES["secret_key"], 0o644)
    monkeypatch.setenv("CIRCUMSPECT_SECRET_KEY_FILE", str(path))
    with caplog.at_level(logging.WARNING, "circumspect"):
        load_settings()
    assert f"chmod 600 {path}" in caplog.text
    assert "hunter2" not in caplog.text
    caplog.clear()
    path.chmod(0o440)
    load_settings()
    assert not caplog.text


def test_doctor_says_where_each_came_from_and_none_of_them(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in VALUES.items():
        monkeypatch.setenv(f"CIRCUMSPECT_{name.upper()}_FILE", str(keep(folder / "s" / name, value, 0o644)))
    said = CliRunner().invoke(cli, ["doctor", "--port", "0", "--json"]).output
    assert "hunter2" not in said
    rows = {row["name"]: row for row in json.loads(said)["settings"]}
    assert rows["secret_key"]["origin"] == f"secret file {folder / 's' / 'secret_key'}"
    assert sum(check["check"] == "secrets" for check in json.loads(said)["checks"]) == len(VALUES)
    assert not any(check["check"] == "environment" for check in json.loads(said)["checks"])
    assert all("hunter2" not in render_setting(name, getattr(read().settings, name)) for name in VALUES)


def test_commands_without_settings_read_the_databases_file_too(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CIRCUMSPECT_DATABASE_FILE", str(keep(folder / "s" / "x", "sqlite:///named.db\n")))
    assert CliRunner().invoke(cli, ["db", "upgrade"]).exit_code == 0
    assert (folder / "named.db").exists()
    assert not (folder / ".circumspect").exists()
    monkeypatch.setenv("CIRCUMSPECT_DATABASE_FILE", "gone")
    assert isinstance(CliRunner().invoke(cli, ["db", "upgrade"]).exception, CircumspectError)
