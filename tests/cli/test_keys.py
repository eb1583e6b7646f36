"""`circumspect keys` and `circumspect operators`."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import subprocess
import sys

import pytest

from circumspect.server import credentials
from circumspect.server.config import Settings
from circumspect.server.vault import open_vault
from circumspect.stores import SqlStore
from circumspect.stores.log_keeping import write_checkpoint
from circumspect.values import Business, Tenant

DATABASE = ".circumspect/circumspect.db"
PASSWORD = "correct horse battery"


@pytest.fixture(autouse=True)
def shop(folder):
    """A database with two tenants."""

    async def made() -> None:
        store = await SqlStore.open(DATABASE)
        for name in ("shop", "other"):
            await store.put_tenant(Tenant(name, Business(name)))
        await store.close()

    asyncio.run(made())


def rows(query: str) -> list[tuple]:
    connection = sqlite3.connect(DATABASE)
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


# --- keys -----------------------------------------------------------------------------------------------------------


def test_a_key_is_printed_once_and_nothing_else_is(run):
    ran = run("keys", "create", "--tenant", "shop")
    assert ran.code == 0
    key = ran.out.strip()
    assert ran.out == f"{key}\n"
    assert "not shown again" in ran.err
    assert rows("SELECT tenant, hash, scopes, expires_at FROM api_keys") == [
        ("shop", credentials.hash_token(key), '["chat"]', None)
    ]
    assert key not in run("keys", "list").out
    assert key.split("_", 2)[2] not in str(rows("SELECT * FROM api_keys, operator_log"))


def test_a_key_has_the_scopes_the_name_and_the_end_that_were_asked_for(run):
    ran = run(
        "keys", "create", "--tenant", "shop", "--name", "till", "--scope", "read", "--scope", "manage",
        "--scope", "read", "--expires", "90d", "--json",
    )  # fmt: skip
    made = json.loads(ran.out)
    assert ran.err == ""
    assert (made["tenant"], made["name"], made["scopes"], made["state"]) == (
        "shop",
        "till",
        ["read", "manage"],
        "valid",
    )
    assert credentials.key_id(made["key"]) == made["id"]
    ((created, expires),) = rows("SELECT created_at, expires_at FROM api_keys")
    assert expires - created == pytest.approx(90 * 86400)


def test_a_tenant_that_is_not_there_is_told_with_those_that_are(run):
    run("keys", "create", "--tenant", "shp").refused("There is no tenant 'shp'", "other, shop")
    assert rows("SELECT * FROM api_keys") == rows("SELECT * FROM operator_log") == []


@pytest.mark.parametrize("span", ["", "90", "d", "-1d", "1.5h", "1y", "1e9d", "9999999d", "٣d", "forever"])
def test_a_length_of_time_that_is_none_is_told(run, span):
    run("keys", "create", "--tenant", "shop", "--expires", span).refused("90d, 24h or 30m")
    run("keys", "create", "--tenant", "shop", "--expires", "0d").refused("ends at once opens nothing")


def test_a_scope_that_does_not_exist_is_told(run):
    run("keys", "create", "--tenant", "shop", "--scope", "everything").refused("'everything' is not one of", "chat")


def test_a_key_that_stands_in_web_pages_may_do_nothing_else(run):
    said = ("keys", "create", "--tenant", "shop", "--scope", "widget")
    run(*said, "--scope", "read").refused("anybody can read it", "one with widget alone")
    assert run(*said).code == 0
    assert rows("SELECT scopes FROM api_keys") == [('["widget"]',)]


def test_keys_are_listed_with_what_became_of_them(run, monkeypatch):
    first, second = (
        json.loads(run("keys", "create", "--tenant", name, "--json").out)["id"] for name in ("shop", "other")
    )
    run("keys", "revoke", first)
    with monkeypatch.context() as long_ago:
        long_ago.setattr("circumspect.cli.keys.time", lambda: 1e9)
        run("keys", "create", "--tenant", "shop", "--expires", "1s")
    listed = json.loads(run("keys", "list", "--json").out)
    assert {(one["tenant"], one["state"]) for one in listed} == {
        ("shop", "revoked"), ("other", "valid"), ("shop", "expired")
    }  # fmt: skip
    only = run("keys", "list", "--tenant", "other").out
    assert second in only
    assert first not in only
    assert run("keys", "list", "--tenant", "nobody").out == "There are no keys.\n"


def test_revoking_takes_an_id_or_the_key_and_is_no_mistake_twice(run):
    made = json.loads(run("keys", "create", "--tenant", "shop", "--json").out)
    for given in (made["id"], made["key"], f"csk_{made['id']}"):
        ran = run("keys", "revoke", given)
        assert (ran.code, ran.out) == (0, f"The key {made['id']} of shop is revoked.\n")
    run("keys", "revoke", "nonsense").refused("no key with this id", "keys list")


def test_rotating_prints_a_new_key_and_the_old_one_works_for_a_while(run):
    old = json.loads(run("keys", "create", "--tenant", "shop", "--scope", "admin", "--json").out)
    ran = run("keys", "rotate", old["id"], "--overlap", "1h")
    new = ran.out.strip()
    assert credentials.key_id(new) not in (None, old["id"])
    assert f"The old key {old['id']} works until" in ran.err
    kept = dict(rows("SELECT id, scopes FROM api_keys"))
    assert kept[old["id"]] == kept[credentials.key_id(new)] == '["admin"]'
    ((ends,),) = rows(
        f"SELECT expires_at - (SELECT MAX(created_at) FROM api_keys) FROM api_keys WHERE id = '{old['id']}'"
    )
    assert ends == pytest.approx(3600)
    again = json.loads(run("keys", "rotate", credentials.key_id(new), "--json").out)
    assert again["old"]["id"] == credentials.key_id(new)
    run("keys", "rotate", "nonsense").refused("no key with this id")
    run("keys", "revoke", old["id"])
    run("keys", "rotate", old["id"]).refused("revoked", "keys create")


def test_what_the_command_line_did_is_in_the_operators_log(run):
    made = json.loads(run("keys", "create", "--tenant", "shop", "--json").out)
    run("keys", "rotate", made["id"])
    run("keys", "revoke", made["id"])
    log = rows("SELECT operator, action, tenant FROM operator_log ORDER BY at")
    assert log == [("command line", f"key.{verb}", "shop") for verb in ("created", "rotated", "revoked")]


def test_the_database_comes_from_the_option_the_environment_or_the_file(run, folder, monkeypatch):
    (folder / "circumspect.toml").write_text('database = "sqlite:///from-file.db"\n')
    run("keys", "create", "--tenant", "shop").refused("There is no tenant 'shop'", "circumspect apply")
    assert (folder / "from-file.db").exists()
    assert run("keys", "create", "--tenant", "shop", "--database", f"sqlite:///{DATABASE}").code == 0
    monkeypatch.setenv("CIRCUMSPECT_DATABASE", f"sqlite:///{DATABASE}")
    assert run("keys", "create", "--tenant", "shop").code == 0
    run("keys", "list", "--config", "gone.toml").refused("gone.toml: there is no such file")


# --- operators ------------------------------------------------------------------------------------------------------


def add(run, name: str = "dana", *options: str, password: str = PASSWORD):
    return run("operators", "add", name, "--password-stdin", *options, stdin=f"{password}\n")


def test_an_operator_is_added_with_a_role_and_a_hashed_password(run):
    ran = add(run, "dana", "--role", "admin")
    assert (ran.code, ran.out) == (0, "dana may sign in as admin.\n")
    ((name, role, tenants, password),) = rows("SELECT name, role, tenants, password FROM operators")
    assert (name, role, tenants) == ("dana", "admin", None)
    assert password.startswith("$argon2id$")
    assert credentials._fits(PASSWORD, password)
    assert rows("SELECT operator, action FROM operator_log") == [("command line", "operator.added")]


def test_an_operator_may_be_limited_to_tenants_that_exist(run):
    add(run, "dana", "--tenant", "shop", "--tenant", "other")
    assert rows("SELECT tenants FROM operators") == [('["shop","other"]',)]
    add(run, "eli", "--tenant", "shp").refused("There is no tenant 'shp'")


def test_a_password_comes_from_a_pipe_without_the_option_too(run):
    assert run("operators", "add", "dana", stdin=f"{PASSWORD}\r\n").code == 0
    ((password,),) = rows("SELECT password FROM operators")
    assert credentials._fits(PASSWORD, password)


@pytest.mark.parametrize(
    ("password", "word"), [("", "too short"), ("short", "12 characters"), ("x" * 1025, "too long")]
)
def test_a_password_that_will_not_do_is_told_and_not_repeated(run, password, word):
    ran = add(run, password=password)
    ran.refused(word)
    assert rows("SELECT * FROM operators") == []


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "x" * 201])
def test_a_name_that_will_not_do_is_told(run, name):
    add(run, name).refused("no name for an operator")


def test_a_name_is_given_once(run):
    add(run)
    add(run).refused("There is an operator 'dana' already")


def test_disabling_enabling_and_a_new_password_are_told_and_listed(run):
    assert run("operators", "list").out == "There are no operators.\n"
    add(run)
    assert json.loads(run("operators", "list", "--json").out)[0]["state"] == "active"
    assert json.loads(run("operators", "disable", "dana", "--json").out)["state"] == "disabled"
    assert "disabled" in run("operators", "list").out
    assert json.loads(run("operators", "enable", "dana", "--json").out)["state"] == "active"
    assert run("operators", "passwd", "dana", stdin="another good password\n").code == 0
    ((password,),) = rows("SELECT password FROM operators")
    assert credentials._fits("another good password", password)
    for verb in ("disable", "enable"):
        run("operators", verb, "nobody").refused("There is no operator 'nobody'", "operators list")
    assert PASSWORD not in run("operators", "list").out


def test_a_second_factor_is_reset_and_logged(run):
    add(run)
    ((id_,),) = rows("SELECT id FROM operators")
    with sqlite3.connect(DATABASE) as database:
        database.execute(
            "INSERT INTO operator_passkeys (id, operator, name, public_key, uses, created_at) VALUES (?, ?, ?, ?, ?, ?)",
            ("cred", id_, "lost", b"", 0, 0.0),
        )
    assert run("operators", "reset-second-factor", "dana").out == "dana signs in with the password alone.\n"
    assert rows("SELECT * FROM operator_passkeys") == []
    assert ("second_factor.reset",) in rows("SELECT action FROM operator_log")
    run("operators", "reset-second-factor", "nobody").refused("There is no operator 'nobody'")


def test_on_a_terminal_the_password_is_asked_for_twice_and_not_shown(folder):
    """In a process of its own, on a terminal of its own."""
    pty = pytest.importorskip("pty")
    import os

    code = "from circumspect.cli.operators import operators; operators(['add', 'dana'])"
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    )
    os.close(theirs)
    shown = b""
    answers = [
        b"correct horse battery\n",
        b"correct horse mattery\n",
        b"correct horse battery\n",
        b"correct horse battery\n",
    ]
    while True:
        try:
            piece = os.read(ours, 1024)
        except OSError:
            break
        if not piece:
            break
        shown += piece
        if answers and shown.rstrip().endswith(b":") and piece.rstrip().endswith(b":"):
            os.write(ours, answers.pop(0))
    assert process.wait() == 0, shown
    os.close(ours)
    assert b"horse" not in shown
    assert b"do not match" in shown
    assert len(rows("SELECT * FROM operators")) == 1


# --- their log ------------------------------------------------------------------------------------------------------


def test_the_log_is_verified_and_a_changed_row_is_named(run):
    for name in ("dana", "eli", "noa"):
        add(run, name)
    ran = run("operators", "log", "verify")
    assert ran.code == 0
    assert ran.out.startswith("The log is whole: 3 rows, not signed yet. Its head, to keep elsewhere: 3:")
    head = ran.out.split()[-1]
    assert run("operators", "log", "verify", "--head", head).code == 0
    run("operators", "log", "verify", "--head", "3").refused("This is no head of the log")
    assert rows("SELECT DISTINCT origin FROM operator_log")[0][0].count("@") == 1
    with sqlite3.connect(DATABASE) as tampering:
        tampering.execute("DROP TRIGGER operator_log_unchanged")
        tampering.execute("UPDATE operator_log SET operator = 'nobody' WHERE seq = 2")
    tampering.close()
    ran = run("operators", "log", "verify")
    assert (ran.code, ran.out) == (
        1,
        "The log is broken at row 2: it is not what was written, or not where it was written. Rows before it are"
        " whole.\n",
    )
    told = json.loads(run("operators", "log", "verify", "--json", "--head", head).out)
    assert (told["whole"], told["broken"], told["rows"]) == (False, 2, 1)


def test_without_the_secret_key_the_check_says_so_and_makes_none(run, folder):
    add(run, "dana")
    key = folder / ".circumspect" / "secret.key"
    assert run("operators", "log", "verify").code == 0, "nothing is signed yet"
    assert not key.exists()

    async def sign() -> None:
        vault = open_vault(Settings(database=f"sqlite:///{DATABASE}"))
        store = await SqlStore.open(f"sqlite:///{DATABASE}")
        await store.tx(write_checkpoint, vault, "check-1", 20.0)
        await store.close()

    asyncio.run(sign())
    assert "signed up to row 1" in run("operators", "log", "verify").out
    away = key.rename(folder / "kept.key")
    run("operators", "log", "verify").refused("There is no secret key here", "secret.key", "CIRCUMSPECT_SECRET_KEY")
    assert not key.exists()
    away.rename(key)
    assert run("operators", "log", "verify").code == 0
