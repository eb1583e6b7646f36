"""Every command asks the model, and the port, that `circumspect serve` would use where it is run."""

from __future__ import annotations

import json
import sys

import click
import pytest
from scripts.generate_docs import walk

from circumspect.cli.find_settings import find_model, find_port
from circumspect.errors import ConfigError
from circumspect.server.config import load_settings


def _takes(name: str) -> list[tuple[str, ...]]:
    return [
        names
        for names, command in walk()
        if any(one.name == name and isinstance(one, click.Option) for one in command.params)
    ]


@pytest.mark.parametrize("names", [*_takes("model"), *_takes("port")], ids=" ".join)
def test_every_command_that_takes_one_takes_a_settings_file_and_has_no_way_of_its_own(names):
    options = {one.name: one for one in dict(walk())[names].params}
    assert "config" in options
    for name in {"model", "port"} & options.keys():
        assert options[name].envvar is None
        assert not isinstance(options[name].default, str | int)


@pytest.mark.parametrize("filed", [None, "openai:filed"])
@pytest.mark.parametrize("variable", [None, "", "openai:variable"])
@pytest.mark.parametrize("given", [None, "openai:given"])
def test_the_command_and_the_server_find_the_same_model(folder, monkeypatch, filed, variable, given):
    (folder / "circumspect.toml").write_text(f'model = "{filed}"\n' if filed else "")
    monkeypatch.delenv("CIRCUMSPECT_MODEL", raising=False)
    if variable is not None:
        monkeypatch.setenv("CIRCUMSPECT_MODEL", variable)
    assert find_model(None, given) == load_settings(model=given).model
    (folder / "circumspect.toml").rename(folder / "other.toml")
    assert find_model(folder / "other.toml", given) == load_settings("other.toml", model=given).model


@pytest.mark.parametrize("filed", [None, 8101])
@pytest.mark.parametrize("variable", [None, "", "8102"])
@pytest.mark.parametrize("given", [None, 8103])
def test_the_health_check_and_the_server_find_the_same_port(folder, monkeypatch, filed, variable, given):
    if filed:
        (folder / "circumspect.toml").write_text(f"workers = 1\nport = {filed}\n")
    monkeypatch.delenv("CIRCUMSPECT_PORT", raising=False)
    if variable is not None:
        monkeypatch.setenv("CIRCUMSPECT_PORT", variable)
    assert find_port(None, given) == load_settings(port=given).port


def test_the_health_check_asks_at_the_port_of_the_settings_file_without_the_packages_of_the_server(
    run, folder, monkeypatch
):
    monkeypatch.delenv("CIRCUMSPECT_PORT", raising=False)
    monkeypatch.setitem(sys.modules, "circumspect.server.config", None)
    (folder / "circumspect.toml").write_text("port = 1\n")
    asked = run("health", "--json")
    assert asked.code == 1
    assert "127.0.0.1:1 " in json.loads(asked.out)["problem"]


@pytest.mark.parametrize(
    ("content", "said"),
    [("port = 0", "a free port"), ("port = 99999", "no port"), ('port = "x"', "no port"), ("port =", "cannot be read")],
)
def test_a_port_that_cannot_be_known_is_told(run, folder, monkeypatch, content, said):
    monkeypatch.delenv("CIRCUMSPECT_PORT", raising=False)
    (folder / "circumspect.toml").write_text(content)
    run("health").refused(said, "circumspect.toml")


def test_a_chat_is_with_the_model_of_the_settings_file(run, folder, monkeypatch):
    monkeypatch.delenv("CIRCUMSPECT_MODEL", raising=False)
    (folder / "circumspect.toml").write_text('model = "nobody:nothing"\n')
    for command in (("chat",), ("demo",), ("browse", "https://shop.example", "look")):
        run(*command, stdin="hello\n").refused("nobody")
    assert run("chat", "--model", "offline", stdin="hello\n").code == 0


def test_a_mistake_in_the_settings_file_is_told_and_no_other_model_is_asked(folder):
    (folder / "circumspect.toml").write_text("modle = 'offline'")
    with pytest.raises(ConfigError, match="modle"):
        find_model(None, None)
