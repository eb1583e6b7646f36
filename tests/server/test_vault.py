"""Secrets at rest: what is sealed opens with its key and with no other, and the key is found, made or asked for."""

from __future__ import annotations

import os
import stat
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from circumspect.errors import ConfigError
from circumspect.server.config import Settings
from circumspect.server.stores import access
from circumspect.server.vault import KEY_FILE, Vault, key_path, open_vault
from circumspect.stores import SqlStore
from circumspect.values import Business, Tenant

OLD, NEW = "o" * 32, "n" * 32
VAULT = Vault(OLD)


@given(st.text(st.characters(), max_size=200))
def test_whatever_is_sealed_comes_out_as_it_was(text):
    assert VAULT.unseal(VAULT.seal(text)) == text


def test_the_same_secret_never_looks_the_same_twice_and_shows_nothing():
    one, two = VAULT.seal("hunter2"), VAULT.seal("hunter2")
    assert one != two
    assert "hunter2" not in one


def test_another_key_opens_nothing_and_the_error_shows_nothing():
    sealed = VAULT.seal("hunter2")
    with pytest.raises(ConfigError, match="CIRCUMSPECT_SECRET_KEY") as refused:
        Vault(NEW).unseal(sealed)
    assert "hunter2" not in str(refused.value)
    assert OLD not in repr(VAULT.__dict__)


@pytest.mark.parametrize("change", [lambda s: s[:-3] + "AAA", lambda s: s[1:], lambda s: "", lambda s: "ключ"])
def test_what_was_tampered_with_does_not_open(change):
    with pytest.raises(ConfigError):
        VAULT.unseal(change(VAULT.seal("hunter2")))


def test_the_first_key_seals_and_every_key_opens():
    before = VAULT.seal("hunter2")
    both = Vault((NEW, OLD))
    assert both.unseal(before) == "hunter2"
    assert Vault(NEW).unseal(both.seal("swordfish")) == "swordfish"
    with pytest.raises(ConfigError):
        Vault(NEW).unseal(before)


async def test_a_tenants_secrets_are_opened_by_name(tmp_path):
    store = await SqlStore.open(f"sqlite:///{tmp_path}/store.db")
    for tenant, secret in {"shop": "hunter2", "other": "swordfish"}.items():
        await store.put_tenant(Tenant(tenant, Business(tenant)))
        await store.tx(access.put_secret, tenant, "token", VAULT.seal(secret), 1.0)
    assert await VAULT.secrets_of(store, "shop") == {"token": "hunter2"}
    assert await VAULT.secrets_of(store, "nobody") == {}
    await store.close()
    assert b"hunter2" not in b"".join(path.read_bytes() for path in tmp_path.iterdir())


# --- where the key comes from ---------------------------------------------------------------------------------------


def settings(**given) -> Settings:
    return Settings(**given)


def test_beside_sqlite_a_key_is_made_once_for_its_owner_only(tmp_path):
    database = f"sqlite:///{tmp_path}/deep/down/store.db"
    sealed = open_vault(settings(database=database)).seal("hunter2")
    file = tmp_path / "deep" / "down" / KEY_FILE
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert len(file.read_text().strip()) >= 32
    assert open_vault(settings(database=database)).unseal(sealed) == "hunter2"
    assert [path.name for path in file.parent.iterdir()] == [KEY_FILE], "nothing is left lying about"


@pytest.mark.parametrize(
    ("database", "path"),
    [
        ("sqlite:///a/b.db", "a/secret.key"),
        ("sqlite:////a/b.db", "/a/secret.key"),
        ("sqlite:///b.db", "secret.key"),
        ("sqlite:///b.db?timeout=5", "secret.key"),
        ("a/b.db", "a/secret.key"),
        (":memory:", None),
        ("sqlite://", None),
        ("postgresql://u:p@h/db", None),
        ("postgres://h/db", None),
    ],
)
def test_the_key_is_kept_beside_the_file(database, path):
    assert (str(key_path(database)) if path else key_path(database)) == path


def test_workers_that_start_at_once_get_the_same_key(tmp_path):
    """Threads stand for processes: what decides is the file system."""
    given = settings(database=f"sqlite:///{tmp_path}/store.db")
    start = threading.Barrier(8)

    def worker(_: int) -> str:
        start.wait()
        return open_vault(given).seal("hunter2")

    with ThreadPoolExecutor(8) as workers:
        sealed = list(workers.map(worker, range(8)))
    assert [open_vault(given).unseal(one) for one in sealed] == ["hunter2"] * 8


def test_postgresql_without_a_key_is_refused_with_how_to_make_one():
    with pytest.raises(ConfigError, match=r"CIRCUMSPECT_SECRET_KEY.*token_urlsafe"):
        open_vault(settings(database="postgresql://u:hunter2@h/db"))
    assert open_vault(settings(database="postgresql://u:p@h/db", secret_key=OLD)).unseal(VAULT.seal("x")) == "x"


def test_a_key_of_the_settings_wins_over_the_file_and_may_be_several(tmp_path):
    vault = open_vault(settings(database=f"sqlite:///{tmp_path}/store.db", secret_key=f"{NEW}, {OLD}"))
    assert vault.unseal(VAULT.seal("x")) == "x"
    assert not (tmp_path / KEY_FILE).exists()


def test_in_memory_the_key_is_gone_with_the_database():
    sealed = open_vault(settings(database=":memory:")).seal("x")
    with pytest.raises(ConfigError):
        open_vault(settings(database=":memory:")).unseal(sealed)


@pytest.mark.parametrize("content", ["", "\n", "short", "o" * 32 + "\nshort"])
def test_a_file_with_no_usable_key_is_never_replaced(tmp_path, content):
    (tmp_path / KEY_FILE).write_text(content)
    with pytest.raises(ConfigError, match="no usable secret key"):
        open_vault(settings(database=f"sqlite:///{tmp_path}/store.db"))
    assert (tmp_path / KEY_FILE).read_text() == content


def test_a_file_that_others_can_read_is_used_and_complained_about(tmp_path, caplog):
    (tmp_path / KEY_FILE).write_text(f"{NEW}\n{OLD}\n")
    (tmp_path / KEY_FILE).chmod(0o644)
    assert open_vault(settings(database=f"sqlite:///{tmp_path}/store.db")).unseal(VAULT.seal("x")) == "x"
    assert "chmod 600" in caplog.text
    assert NEW not in caplog.text


def test_a_folder_that_cannot_be_made_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="CIRCUMSPECT_SECRET_KEY"):
        open_vault(settings(database=f"sqlite:///{tmp_path}/file/store.db"))
    assert os.listdir(tmp_path) == ["file"]
