"""`circumspect apply` and `circumspect tenants`, as a shell would run them."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

import pytest

SMALL = "id: shop\nbusiness: {name: The Shop, hours: 9 to 5}\n"


@pytest.fixture
def write(folder: Path):
    def written(text: str, name: str = "tenant.yaml") -> str:
        (folder / name).write_text(textwrap.dedent(text), "utf-8")
        return name

    return written


def test_a_file_is_applied_and_the_second_time_there_is_no_change(run, write):
    first = run("apply", write(SMALL))
    assert first.code == 0, first.err
    assert "shop: created" in first.out
    assert "+ business.hours: '9 to 5'" in first.out
    second = run("apply", "tenant.yaml")
    assert (second.code, second.out) == (0, "shop: no change\n")


def test_a_dry_run_says_what_would_happen(run, write):
    run("apply", write(SMALL))
    told = run("apply", write(SMALL.replace("9 to 5", "9 to 6")), "--dry-run")
    assert told.out == "shop: would be updated\n  ~ business.hours: '9 to 5' → '9 to 6'\n"
    assert "would be updated" in run("apply", "tenant.yaml", "--dry-run").out
    assert "shop: updated" in run("apply", "tenant.yaml").out


def test_json_is_one_object_a_file(run, write):
    told = run("apply", write(SMALL), write(SMALL.replace("shop", "other"), "other.yaml"), "--json")
    rows = [json.loads(line) for line in told.out.splitlines()]
    assert [(row["file"], row["tenant"], row["created"]) for row in rows] == [
        ("tenant.yaml", "shop", True),
        ("other.yaml", "other", True),
    ]
    assert {"kind": "added", "what": "business.hours", "detail": "'9 to 5'"} in rows[0]["changes"]


def test_a_broken_file_is_refused_with_every_finding_and_the_others_are_applied(run, write):
    write("id: bad\nbusiness: {nam: x}\nlanguage: fr\n", "bad.yaml")
    ran = run("apply", "bad.yaml", write(SMALL))
    ran.refused("bad.yaml:2: unknown key 'nam'; did you mean 'name'?", "bad.yaml:3: 'language' cannot be this")
    assert "shop: created" in ran.out
    assert "shop" in run("tenants", "list").out
    assert "bad" not in run("tenants", "list").out


def test_two_broken_files_are_both_told(run, write):
    write("id: bad\n", "bad.yaml")
    write("id: worse\nbusiness: 1\n", "worse.yaml")
    run("apply", "bad.yaml", "worse.yaml").refused("bad.yaml:", "worse.yaml:2:")


def test_a_secret_is_read_and_never_printed(run, write, monkeypatch, folder):
    monkeypatch.setenv("CRM_TOKEN", "s3cret-token")
    told = run("apply", write(SMALL + "secrets: {crm_token: {env: CRM_TOKEN}}\n"))
    assert "+ secret crm_token" in told.out
    monkeypatch.setenv("CRM_TOKEN", "an0ther")
    again = run("apply", "tenant.yaml", "--dry-run")
    assert "~ secret crm_token" in again.out
    shown = run("tenants", "show", "shop")
    assert "# Secrets that are stored: crm_token" in shown.out
    for text in (told.out, told.err, again.out, again.err, shown.out):
        assert "s3cret" not in text
        assert "an0ther" not in text
    assert b"s3cret" not in (folder / ".circumspect" / "circumspect.db").read_bytes()


def test_a_webhook_that_the_server_will_refuse_is_warned_of(run, write, monkeypatch):
    """By its address or by where its name leads; a name that nobody knows here may be known where the server runs."""
    monkeypatch.setenv("HOOK", "s3cret-token")
    urls = ("http://127.0.0.1:9/a", "http://localhost:9/b", "https://ops:pw@example.invalid/c", "https://h.invalid/d")
    hooks = "".join(f"    - {{url: '{url}', secret: hook}}\n" for url in urls)
    file = write(f"{SMALL}secrets: {{hook: {{env: HOOK}}}}\nnotify:\n  webhooks:\n{hooks}")
    told = run("apply", file, "--dry-run")
    assert told.code == 0
    lines = told.err.splitlines()
    assert [line.partition(": this")[0] for line in lines] == [f"warning: {file}:{number}" for number in (6, 7, 8)]
    assert all("will not be called" in line for line in lines)
    assert "add 'localhost' to the allowed hosts and networks (allow_addresses)" in lines[1]
    assert "pw" not in told.err
    monkeypatch.setenv("CIRCUMSPECT_ALLOW_ADDRESSES", "127.0.0.1,localhost")
    assert len(run("apply", file).err.splitlines()) == 1


def test_tools_are_found_in_the_folder_where_the_command_is_run(run, write):
    write("from circumspect import tool\n\n@tool\ndef cli_found(): 'Look.'\n", "tools_of_the_cli_test.py")
    ran = run("apply", write(SMALL + "tools: [{python: 'tools_of_the_cli_test:cli_found'}]\n"))
    assert ran.code == 0, ran.err
    assert "warning: tenant.yaml:3: nobody says what 'cli_found' does" in ran.err


def test_another_database_can_be_named(run, write, folder):
    ran = run("apply", write(SMALL), "--database", "elsewhere.db")
    assert ran.code == 0, ran.err
    assert (folder / "elsewhere.db").is_file()
    assert "There are no tenants yet" in run("tenants", "list").out
    assert "The Shop" in run("tenants", "list", "--database", "elsewhere.db").out


def test_tenants_are_listed_and_shown_as_a_file_that_changes_nothing(run, write):
    run("apply", write(SMALL + "policy:\n  # careful\n  tools: {}\n"))
    listed = json.loads(run("tenants", "list", "--json").out)
    assert [(one["id"], one["served"]) for one in listed] == [("shop", True)]
    shown = run("tenants", "show", "shop").out
    assert "  # careful" in shown
    assert run("apply", write(shown, "shown.yaml")).out == "shop: no change\n"
    assert json.loads(run("tenants", "show", "shop", "--json").out)["tenant"] == "shop"
    run("tenants", "show", "nobody").refused("There is no tenant 'nobody'")


def test_a_file_that_is_not_there_is_a_mistake_of_the_caller(run):
    ran = run("apply", "none.yaml")
    assert ran.code == 2
    assert "none.yaml" in ran.err
    assert "Traceback" not in ran.err
