"""`circumspect mcp --print-config`: what is printed works as it is, and holds no secret that nobody asked for."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from tests.patience import PATIENCE

from circumspect.cli import cli
from circumspect.cli.mcp_config import CLIENTS
from circumspect.demo.samples.apply_samples import apply_samples
from circumspect.server.config import Settings
from circumspect.stores import SqlStore

SECRET = "a secret key for tests only which is long enough"
KEY = "csk_a_key_of_the_shop"
POSTGRES = "postgresql://shop:hush-hush@db.example/shop"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [name for name in os.environ if name.startswith("CIRCUMSPECT_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CIRCUMSPECT_SECRET_KEY", SECRET)
    monkeypatch.setenv("CIRCUMSPECT_API_KEY", KEY)
    return tmp_path


def print_config(client: str, *options: str) -> tuple[str, dict]:
    done = CliRunner().invoke(cli, ["mcp", "--tenant", "shop", "--print-config", client, *options])
    assert done.exit_code == 0, done.output
    config = json.loads(done.stdout)
    ((server,),) = [servers.values() for name, servers in config.items() if name != "inputs"]
    return done.output, {**server, "inputs": config.get("inputs", [])}


@pytest.mark.parametrize("client", CLIENTS)
async def test_a_program_as_it_is_printed_is_a_gateway(client, here):
    """With the secret in the place that the file has for it, and from another directory than this one."""
    database = "sqlite:///some.db"
    store = await SqlStore.open(database)
    await apply_samples(store, Settings(database=database, secret_key=SECRET))
    await store.close()
    said, server = print_config(client, "--database", database)
    assert SECRET not in said
    place = CLIENTS[client].secret("CIRCUMSPECT_SECRET_KEY")
    assert server["env"] == {"CIRCUMSPECT_SECRET_KEY": place}
    assert [one["id"] for one in server["inputs"]] == (["CIRCUMSPECT_SECRET_KEY"] if client == "vscode" else [])
    environment = {"CIRCUMSPECT_SECRET_KEY": SECRET}
    program = StdioServerParameters(command=server["command"], args=server["args"], env=environment, cwd="/")
    async with Client(program, read_timeout_seconds=PATIENCE) as gateway:
        assert "cancel_order" in {tool.name for tool in (await gateway.list_tools()).tools}


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("url", ["https://agents.example", "https://agents.example/", "https://agents.example/mcp"])
def test_an_address_is_printed_with_a_place_for_the_key(client, url):
    said, server = print_config(client, "--url", url)
    assert KEY not in said
    assert '"https://agents.example/mcp"' in said
    assert f"Bearer {CLIENTS[client].secret('CIRCUMSPECT_API_KEY')}" in said
    assert ("url" in server) is (client != "claude-desktop")


@pytest.mark.parametrize("client", CLIENTS)
def test_secrets_are_written_out_for_those_who_ask(client, monkeypatch):
    assert f"Bearer {KEY}" in print_config(client, "--url", "https://agents.example", "--with-secrets")[0]
    _, server = print_config(client, "--with-secrets")
    assert server["env"] == {"CIRCUMSPECT_SECRET_KEY": SECRET}
    assert server["inputs"] == []
    monkeypatch.delenv("CIRCUMSPECT_API_KEY")
    missing = ["mcp", "--tenant", "shop", "--print-config", client, "--url", "https://agents.example", "--with-secrets"]
    assert "CIRCUMSPECT_API_KEY is not set" in str(CliRunner().invoke(cli, missing).exception)


@pytest.mark.parametrize("how", ["option", "environment"])
def test_a_database_with_a_password_is_a_secret_and_one_without_is_none(how, monkeypatch):
    def name(database: str) -> tuple[str, dict]:
        if how == "option":
            return print_config("cursor", "--database", database)
        monkeypatch.setenv("CIRCUMSPECT_DATABASE", database)
        return print_config("cursor")

    said, server = name(POSTGRES)
    assert "hush-hush" not in said
    assert server["env"]["CIRCUMSPECT_DATABASE"] == "${env:CIRCUMSPECT_DATABASE}"
    assert name("postgresql://db.example/shop")[1]["env"]["CIRCUMSPECT_DATABASE"] == "postgresql://db.example/shop"


def test_the_settings_file_is_named_by_its_whole_path(here):
    (here / "circumspect.toml").write_text('log_level = "error"\n')
    assert str(here / "circumspect.toml") in print_config("cursor")[1]["args"]


def test_options_that_print_nothing_are_a_mistake():
    done = CliRunner().invoke(cli, ["mcp", "--tenant", "shop", "--url", "https://agents.example"])
    assert done.exit_code == 2
    assert "--print-config" in done.output
