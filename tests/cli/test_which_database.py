"""Every command works on the database that `circumspect serve` would use where it is run."""

from __future__ import annotations

import sys
from pathlib import Path

import click
import pytest
from scripts.generate_docs import walk

from circumspect.cli.find_settings import find_database
from circumspect.errors import ConfigError
from circumspect.server.config import load_settings

THEIRS = "mine.db"


@pytest.fixture
def settings_file(folder: Path) -> Path:
    """The folder's settings name another database, which has a conversation; the usual one is empty."""
    path = folder / "circumspect.toml"
    path.write_text(f'database = "sqlite:///{THEIRS}"\n')
    return path


def _list_options(command: click.Command) -> dict[str, click.Parameter]:
    return {one.name or "": one for one in command.params}


@pytest.mark.parametrize(
    "names", [names for names, command in walk() if "database" in _list_options(command)], ids=" ".join
)
def test_every_command_that_takes_a_database_takes_a_settings_file_and_has_no_way_of_its_own(names):
    options = _list_options(dict(walk())[names])
    assert "config" in options
    database = options["database"]
    assert database.envvar is None
    assert not isinstance(database.default, str)
    assert not callable(database.default)


def test_the_schema_is_that_of_the_database_in_the_settings_file(run, folder, settings_file):
    missing = run("db", "status")
    assert missing.code == 1
    assert run("db", "upgrade").code == 0
    assert (folder / THEIRS).exists()
    assert run("db", "status").code == 0


def test_what_a_restored_backup_left_open_is_held_in_the_database_of_the_settings_file(run, folder, settings_file):
    run("db", "upgrade", "--database", "sqlite:///.circumspect/circumspect.db")
    run("chat", "--conversation", "c1", stdin="cancel order 12345\n")
    assert "1 questions are put again" in run("db", "restored", "--yes").out


def test_conversations_are_read_where_they_were_written(run, folder, settings_file):
    run("chat", "--conversation", "c1", stdin="cancel order 12345\nyes\n")
    assert (folder / THEIRS).exists()
    assert "There is no tenant" not in run("calibrate", "--tenant", "shop").err
    (folder / "policy.yaml").write_text("version: 1\ndefault: allow\n")
    assert "There is no tenant" not in run("backtest", "--policy", "policy.yaml", "--tenant", "shop").err
    assert run("test", "--from-store", "--tenant", "shop", "--write", "fixtures").code == 0


def test_another_settings_file_may_be_named(run, folder, settings_file):
    settings_file.rename(folder / "other.toml")
    assert run("db", "upgrade", "--config", "other.toml").code == 0
    assert (folder / THEIRS).exists()


@pytest.mark.parametrize("content", ["databse = 'sqlite:///mine.db'", "database = 5", "database ="])
def test_a_mistake_in_the_settings_file_is_told_and_no_other_database_is_taken(run, settings_file, content):
    settings_file.write_text(content)
    run("db", "restored", "--yes").refused("circumspect.toml")


def test_a_settings_file_that_was_named_and_is_not_there_is_told(run):
    run("db", "upgrade", "--config", "gone.toml").refused("gone.toml", "no such file")


@pytest.mark.parametrize("filed", [None, "sqlite:///filed.db"])
@pytest.mark.parametrize("variable", [None, "", "sqlite:///variable.db"])
@pytest.mark.parametrize("secret", [None, "_FILE", "credentials"])
@pytest.mark.parametrize("given", [None, "sqlite:///given.db"])
def test_the_command_and_the_server_find_the_same_database(folder, monkeypatch, filed, variable, secret, given):
    if filed:
        (folder / "circumspect.toml").write_text(f'database = "{filed}"\n')
    if variable is not None:
        monkeypatch.setenv("CIRCUMSPECT_DATABASE", variable)
    (folder / "database").write_text("sqlite:///secret.db\n")
    (folder / "database").chmod(0o600)
    if secret == "_FILE":
        monkeypatch.setenv("CIRCUMSPECT_DATABASE_FILE", str(folder / "database"))
    elif secret:
        monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(folder))
    try:
        theirs = load_settings(database=given).database
    except ConfigError:
        with pytest.raises(ConfigError):
            find_database(None, given)
    else:
        assert find_database(None, given) == theirs


def test_without_the_packages_of_the_server_a_settings_file_is_no_reason_to_guess(folder, settings_file, monkeypatch):
    monkeypatch.setitem(sys.modules, "circumspect.server.config", None)
    monkeypatch.delitem(sys.modules, "circumspect.server.config")
    monkeypatch.setitem(sys.modules, "pydantic_settings", None)
    with pytest.raises(ConfigError, match="--database"):
        find_database(None, None)
    settings_file.unlink()
    assert find_database(None, None) == "sqlite:///.circumspect/circumspect.db"
