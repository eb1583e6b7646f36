"""Options win over the environment, the environment over the file, the file over defaults; and nothing is guessed."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from circumspect.errors import ConfigError
from circumspect.server.config import Settings, label_setting, load_settings, read, render_setting, without_password

SECRET = "s" * 32


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder, and nothing in the environment that decides anything."""
    for name in list(os.environ):
        if name.upper().startswith("CIRCUMSPECT_"):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_nothing_is_needed():
    settings = load_settings()
    assert settings == Settings()
    assert settings.database == "sqlite:///.circumspect/circumspect.db"
    assert (settings.host, settings.port, settings.workers, settings.model) == ("127.0.0.1", 8000, 1, "offline")
    assert (settings.max_body_bytes, settings.rate_per_minute, settings.session_hours) == (1_000_000, 600, 12)


def test_options_win_over_the_environment_it_over_the_file_and_that_over_defaults(folder, monkeypatch):
    (folder / "circumspect.toml").write_text('port = 1\nworkers = 1\nhost = "file"\n')
    monkeypatch.setenv("CIRCUMSPECT_PORT", "2")
    monkeypatch.setenv("CIRCUMSPECT_WORKERS", "2")
    settings = load_settings(port=3, model=None)
    assert (settings.port, settings.workers, settings.host, settings.model) == (3, 2, "file", "offline")
    reading = read(port=3)
    assert {name: reading.origins[name] for name in ("port", "workers", "host", "model")} == {
        "port": "option", "workers": "environment", "host": "file", "model": "default",
    }  # fmt: skip
    assert [label_setting(name, reading) for name in ("port", "workers", "host")] == [
        "--port", "CIRCUMSPECT_WORKERS", "host in circumspect.toml",
    ]  # fmt: skip


def test_an_empty_variable_counts_as_none(folder, monkeypatch):
    (folder / "circumspect.toml").write_text("port = 1\n")
    monkeypatch.setenv("CIRCUMSPECT_PORT", "")
    assert load_settings().port == 1


def test_the_file_may_be_named_by_option_or_variable(folder, monkeypatch):
    (folder / "one.toml").write_text("port = 1\n")
    (folder / "two.toml").write_text("port = 2\n")
    monkeypatch.setenv("CIRCUMSPECT_CONFIG", "one.toml")
    assert load_settings().port == 1
    assert load_settings("two.toml").port == 2
    assert load_settings(folder / "two.toml").port == 2


def test_a_file_that_was_named_and_is_not_there_is_told(monkeypatch):
    with pytest.raises(ConfigError, match=r"gone\.toml: there is no such file"):
        load_settings("gone.toml")
    monkeypatch.setenv("CIRCUMSPECT_CONFIG", "gone.toml")
    with pytest.raises(ConfigError, match=r"gone\.toml"):
        load_settings()


def test_lists_are_written_with_commas_in_the_environment_and_as_lists_in_the_file(folder, monkeypatch):
    (folder / "circumspect.toml").write_text('allow_addresses = ["10.1.2.3", "CRM.internal"]\n')
    assert load_settings().allow_addresses == ("10.1.2.3/32", "crm.internal")
    monkeypatch.setenv("CIRCUMSPECT_ALLOW_ADDRESSES", " 10.0.0.0/8 , crm.internal,, fd00::/8 ")
    assert load_settings().allow_addresses == ("10.0.0.0/8", "crm.internal", "fd00::/8")


COMMA_LISTS = {
    "model_prices": ("qwen2.5-72b=0.4/1.2", "llama3.3=0/0"),
    "allowed_hosts": ("agent.internal", "*.example.org"),
    "allow_addresses": ("10.0.0.0/8", "crm.internal"),
    "second_factor_roles": ("operator", "admin"),
    "oidc_scopes": ("openid", "email"),
    "oidc_roles": ("staff=operator", "boss=admin:shop+clinic"),
    "trusted_proxies": ("10.0.0.5/32", "10.1.0.0/16"),
}


def test_every_list_is_written_with_commas_in_the_environment(monkeypatch):
    lists = {name for name, field in Settings.model_fields.items() if isinstance(field.get_default(), tuple)}
    assert lists == COMMA_LISTS.keys()
    for name, parts in COMMA_LISTS.items():
        monkeypatch.setenv(f"CIRCUMSPECT_{name.upper()}", parts[0])
        assert getattr(load_settings(), name) == parts[:1]
        monkeypatch.setenv(f"CIRCUMSPECT_{name.upper()}", ", ".join(parts))
        assert getattr(load_settings(), name) == parts


def test_a_price_that_cannot_be_read_is_told_by_its_variable(monkeypatch):
    monkeypatch.setenv("CIRCUMSPECT_MODEL_PRICES", "llama3.3=cheap")
    with pytest.raises(ConfigError, match="CIRCUMSPECT_MODEL_PRICES"):
        load_settings()


@pytest.mark.parametrize("wrong", ["10.0.0.0/99", "999.1.1.1", "http://crm.internal", "a b", "crm/internal", "*"])
def test_an_exception_that_is_no_address_is_refused(wrong):
    with pytest.raises(ConfigError, match="neither an address"):
        load_settings(allow_addresses=[wrong])


@pytest.mark.parametrize("key", ["prot", "data_base", "rate_per_minut", "secretkey"])
def test_an_unknown_key_in_the_file_is_refused_with_the_nearest_one(folder, key):
    (folder / "circumspect.toml").write_text(f"{key} = 1\n")
    with pytest.raises(ConfigError, match=rf"{key} in circumspect\.toml: there is no such setting; did you mean \w+\?"):
        load_settings()


def test_an_unknown_key_like_nothing_is_refused_too(folder):
    (folder / "circumspect.toml").write_text("[tenants.shop]\nx = 1\n")
    with pytest.raises(ConfigError, match=r"tenants in circumspect\.toml: there is no such setting"):
        load_settings()


@pytest.mark.parametrize(("content", "word"), [(b"port = ", "not TOML"), (b"\xff\xfe", "not UTF-8")])
def test_a_file_that_cannot_be_read_is_told(folder, content, word):
    (folder / "circumspect.toml").write_bytes(content)
    with pytest.raises(ConfigError, match=word):
        load_settings()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("port", "80a"), ("port", 65536), ("port", -1), ("workers", 0), ("host", ""), ("database", ""), ("model", ""),
        ("redis", "localhost:6379"), ("redis", "http://x"), ("redis", "redis://h:port"), ("public_url", "shop.example"),
        ("public_url", "javascript:alert(1)"), ("log_level", "loud"), ("cookie_secure", "yes"), ("session_hours", 0),
        ("rate_per_minute", 0), ("max_body_bytes", 10), ("drain_seconds", -1), ("trusted_proxies", "proxy.example"),
        ("smtp_url", "mail.example"), ("mail_from", "shop"), ("mail_from", "a@b\nBcc: c@d"), ("secret_key", "short"),
        ("secret_key", f"{SECRET},short"), ("secret_key", ","), ("demo", "perhaps"), ("metrics_token", "short"),
        ("model_seconds", 0), ("model_seconds", 3601), ("model_seconds", "nan"), ("model_seconds", "inf"),
    ],
)  # fmt: skip
def test_a_value_that_cannot_be_is_refused_by_its_name(name, value):
    with pytest.raises(ConfigError, match=name.replace("_", "-")):
        load_settings(**{name: value})


def test_every_problem_is_told_at_once_and_none_shows_a_secret(folder, monkeypatch):
    (folder / "circumspect.toml").write_text('prot = 1\nsmtp_url = "hunter2-smtp"\n')
    monkeypatch.setenv("CIRCUMSPECT_SECRET_KEY", "hunter2")
    monkeypatch.setenv("CIRCUMSPECT_REDIS", "http://user:hunter2@host")
    monkeypatch.setenv("CIRCUMSPECT_PORT", "x")
    with pytest.raises(ConfigError) as told:
        load_settings()
    for word in ("prot", "smtp_url in", "CIRCUMSPECT_SECRET_KEY", "CIRCUMSPECT_REDIS", "CIRCUMSPECT_PORT", "doctor"):
        assert word in str(told.value)
    assert "hunter2" not in str(told.value)
    assert told.value.__cause__ is None


def test_what_is_right_is_read_although_something_else_is_wrong(monkeypatch):
    monkeypatch.setenv("CIRCUMSPECT_PORT", "x")
    monkeypatch.setenv("CIRCUMSPECT_WORKERS", "3")
    monkeypatch.setenv("CIRCUMSPECT_ALLOW_ADDRESSES", "10.0.0.0/8")
    reading = read(host="0.0.0.0", nonsense=1)
    settings = reading.settings
    assert (settings.port, settings.workers, settings.host) == (8000, 3, "0.0.0.0")
    assert settings.allow_addresses == ("10.0.0.0/8",)
    assert set(reading.problems) == {"port", "nonsense"}


def test_settings_cannot_be_changed_and_show_no_secret():
    settings = load_settings(
        secret_key=SECRET,
        database="postgresql://u:hunter2@h/db",
        redis="redis://:hunter2@h",
        smtp_url="smtp://u:hunter2@h",
    )
    with pytest.raises(ValueError, match="frozen"):
        settings.port = 1
    assert "hunter2" not in f"{settings!r}{settings}"
    assert SECRET not in f"{settings!r}{settings}"


@pytest.mark.parametrize(
    ("url", "safe"),
    [
        ("postgresql://u:hunter2@h:5432/db", "postgresql://…@h:5432/db"),
        ("postgresql://u:hunter2@x@h/db", "postgresql://…@h/db"),
        ("postgresql://h/db?password=hunter2", "postgresql://h/db?…"),
        ("redis://:hunter2@h", "redis://…@h"),
        ("smtp://u:hunter2/x@h", "smtp://…@h"),
        ("sqlite:///a/b.db", "sqlite:///a/b.db"),
        ("a/b.db", "a/b.db"),
    ],
)
def test_a_password_is_nowhere_in_what_is_shown(url, safe):
    assert without_password(url) == safe
    assert render_setting("database", url) == safe


def test_values_are_shown_as_they_are_written():
    settings = load_settings(secret_key=SECRET, demo=True, allow_addresses="10.0.0.0/8,x")
    assert render_setting("secret_key", settings.secret_key) == "set, not shown"
    assert render_setting("demo", settings.demo) == "true"
    assert render_setting("allow_addresses", settings.allow_addresses) == "10.0.0.0/8, x"
    assert render_setting("drain_seconds", settings.drain_seconds) == "30"
    assert render_setting("redis", settings.redis) == ""


def test_every_setting_and_its_variable_are_explained():
    page = (Path(__file__).parents[2] / "docs" / "configuration.md").read_text("utf-8")
    explained = set(re.findall(r"`([^`\n]+)`", page))
    for name in Settings.model_fields:
        assert {name, f"CIRCUMSPECT_{name.upper()}"} <= explained, name
        assert Settings.model_fields[name].description
