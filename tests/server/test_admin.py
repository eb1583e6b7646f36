"""Administration over HTTP: policies by version, keys shown once, usage counted, everything in the log."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import pytest
import sqlalchemy as sa
from tests.patience import wait_until
from tests.server.house import OURS, House, is_a_problem, say

import circumspect
from circumspect.server.spreadsheet import FORMULA_SIGNS, make_inert
from circumspect.stores import SqlStore
from circumspect.stores.tables import usage

SOURCES = Path(circumspect.__file__).parent

READ_ONLY = "version: 1\ntools:\n  get_order_status: {effect: read}\n"
LOOSE = (
    "version: 1\ntools:\n  get_order_status: {effect: read}\n  cancel_order: {effect: destructive, confirm: always}\n"
)


def test_a_policy_is_put_compared_and_taken_back(both: House) -> None:
    client = both.key("shop-he")
    first = client.get("/v1/admin/policies/current").json()
    put = client.put("/v1/admin/policies", json={"text": READ_ONLY, "if_version": first["version"], "note": "less"})
    assert put.status_code == 200, put.text
    assert put.json()["version"] == first["version"] + 1
    assert put.json()["text"] == READ_ONLY
    stale = client.put("/v1/admin/policies", json={"text": LOOSE, "if_version": first["version"]})
    is_a_problem(stale, 409, "policy_changed")
    client.put("/v1/admin/policies", json={"text": LOOSE})
    changes = client.get(f"/v1/admin/policies/diff?from={first['version'] + 1}&to={first['version'] + 2}").json()
    assert any("cancel_order" in one["where"] for one in changes), changes
    back = client.post("/v1/admin/policies/rollback", json={"version": first["version"]})
    assert back.json()["text"].strip() == first["text"].strip()
    assert back.json()["version"] == first["version"] + 3
    listed = client.get("/v1/admin/policies?limit=2").json()
    assert [one["version"] for one in listed["items"]] == [first["version"] + 3, first["version"] + 2]
    more = client.get(f"/v1/admin/policies?after={listed['next']}").json()
    assert [one["version"] for one in more["items"]] == [first["version"] + 1, first["version"]]
    log = [one["action"] for one in client.get("/v1/admin/log").json()["items"]]
    assert log[:3] == ["roll_back_policy", "put_policy", "put_policy"]


def test_a_policy_that_is_not_sound_is_refused_with_every_finding(house: House) -> None:
    client = house.key()
    before = client.get("/v1/admin/policies/current").json()["version"]
    wrong = "version: 1\ntools:\n  cancel_order: {efect: destructive}\n  nobody_knows: {effect: read}\n"
    body = is_a_problem(client.put("/v1/admin/policies", json={"text": wrong}), 422, "policy")
    assert any("efect" in one for one in body["findings"])
    checked = client.post("/v1/admin/policies/check", json={"text": wrong}).json()
    assert checked["ok"] is False
    assert any(one["line"] == 3 for one in checked["findings"])
    assert client.post("/v1/admin/policies/check", json={"text": READ_ONLY}).json()["ok"] is True
    assert client.get("/v1/admin/policies/current").json()["version"] == before


@pytest.mark.parametrize("name", ["/etc/passwd", "/etc/hostname", "policy.yaml", "../../secret.key"])
def test_a_policy_text_is_never_taken_for_the_name_of_a_file(house: House, name: str) -> None:
    client = house.key()
    answer = client.post("/v1/admin/policies/check", json={"text": name})
    assert answer.json()["ok"] is False
    assert "no file" not in answer.text
    assert "root:" not in answer.text
    audited = client.post("/v1/audit", json={"transcripts": [], "policy": name})
    is_a_problem(audited, 422, "policy")


def test_a_key_works_until_it_is_revoked_and_is_shown_once(house: House) -> None:
    client = house.key()
    made = client.post("/v1/admin/keys", json={"name": "till 7", "scopes": ["chat"]})
    assert made.status_code == 201
    assert made.headers["cache-control"] == "no-store"
    key = made.json()["key"]
    till = house.client(key)
    assert till.get("/v1/conversations").status_code == 200
    assert key.split("_", 2)[2] not in client.get("/v1/admin/keys").text
    rotated = client.post(f"/v1/admin/keys/{made.json()['id']}/rotate", json={"overlap_hours": 1}).json()
    assert rotated["scopes"] == ["chat"]
    assert house.client(rotated["key"]).get("/v1/conversations").status_code == 200
    assert client.delete(f"/v1/admin/keys/{rotated['id']}").json()["revoked_at"]
    assert client.delete(f"/v1/admin/keys/{rotated['id']}").status_code == 200
    is_a_problem(client.post(f"/v1/admin/keys/{rotated['id']}/rotate", json={}), 409)


def test_a_key_that_stands_in_web_pages_may_do_nothing_else(house: House) -> None:
    client = house.operator("root")
    page = {"name": "page", "tenant": "shop"}
    alone = client.post("/v1/admin/keys", json={**page, "scopes": ["widget", "widget"]})
    assert alone.json()["scopes"] == ["widget"]
    before = client.get("/v1/admin/keys").json()
    for scopes in (["widget", "chat"], ["chat", "read", "manage", "admin", "widget"]):
        refused = client.post("/v1/admin/keys", json={**page, "scopes": scopes})
        assert "one with widget alone" in is_a_problem(refused, 422, "mixed_scopes")["fix"]
    assert client.get("/v1/admin/keys").json() == before


def test_usage_is_counted_and_comes_as_json_or_as_a_table(both: House) -> None:
    client = both.key()
    talk = both.conversation(client)
    before = sum(row["messages"] for row in client.get("/v1/admin/usage").json()["items"])
    say(client, talk, "what are your opening hours?")
    rows = client.get("/v1/admin/usage").json()["items"]
    assert sum(row["messages"] for row in rows) == before + 1
    assert {row["tenant"] for row in rows} == {OURS}
    table = client.get("/v1/admin/usage", headers={"Accept": "text/csv"})
    assert table.headers["content-type"].startswith("text/csv")
    read = list(csv.DictReader(io.StringIO(table.text)))
    assert [row["model"] for row in read] == [row["model"] for row in rows]
    assert client.get("/v1/admin/usage?period=1999-01").json()["items"] == []
    for path in ("usage", "usage/evaluations", "usage/measures"):
        is_a_problem(client.get(f"/v1/admin/{path}?period=2026-13"), 422)
    everyone = both.operator("root").get("/v1/admin/usage").json()["items"]
    assert {OURS} <= {row["tenant"] for row in everyone}


@pytest.mark.parametrize("sign", FORMULA_SIGNS)
def test_a_table_holds_nothing_that_a_spreadsheet_would_run(house: House, sign: str) -> None:
    """The name of a model is whatever its server calls itself."""
    model = f"{sign}cmd|' /C calc'!A0"

    async def use(store: SqlStore) -> None:
        counted = {column.name: 0 for column in usage.c if not column.primary_key}
        row = {"tenant": OURS, "period": "2024-02", "mode": "standard", "model": model} | counted
        await store.tx(lambda connection: connection.execute(sa.insert(usage).values(**row)) and None)

    house.stored(use)
    table = house.key().get("/v1/admin/usage?period=2024-02", headers={"Accept": "text/csv"})
    assert f"'{model}" in {row["model"] for row in csv.DictReader(io.StringIO(table.text, newline=""))}


def test_tables_are_written_in_one_place() -> None:
    writers = re.compile(r"\bcsv\.(writer|DictWriter)\b|\bfrom csv import")
    found = {path.name for path in SOURCES.rglob("*.py") if writers.search(path.read_text("utf-8"))}
    assert found == {"spreadsheet.py"}
    assert make_inert(-5) == -5, "a number is no formula"


def test_plans_are_the_operators_and_hold_for_every_tenant(house: House) -> None:
    root = house.operator("root")
    assert {"free", "pro", "enterprise"} <= {plan["name"] for plan in root.get("/v1/admin/plans").json()}
    made = root.put("/v1/admin/plans/gold", json={"mode": "adaptive", "multiplier": 2})
    unlimited = {"quota": None, "message_price_usd": 0}
    assert made.json() == {"name": "gold", "mode": "adaptive", "multiplier": 2, **unlimited}
    is_a_problem(house.operator("noa").put("/v1/admin/plans/gold", json={"mode": "standard"}), 403)
    is_a_problem(house.operator("their-admin").put("/v1/admin/plans/gold", json={"mode": "standard"}), 403)
    is_a_problem(house.key().patch("/v1/admin/tenants/shop", json={"plan": "gold"}), 403)
    is_a_problem(root.patch("/v1/admin/tenants/shop", json={"plan": "nothing"}), 422)
    before = root.get("/v1/admin/tenants/shop").json()
    changed = root.patch("/v1/admin/tenants/shop", json={"plan": "gold", "adaptive_share": 0.5}).json()
    assert (changed["plan"], changed["adaptive_share"]) == ("gold", 0.5)
    assert changed["revision"] > before["revision"]
    root.patch("/v1/admin/tenants/shop", json={"plan": before["plan"], "adaptive_share": 1})
    is_a_problem(root.get("/v1/admin/tenants/nobody"), 404)


def test_who_has_had_the_messages_of_the_month_is_told_so_and_the_count_is_shown(house: House) -> None:
    root, client = house.operator("root"), house.key()
    before = root.get("/v1/admin/tenants/shop").json()["plan"]
    (quota,) = client.get("/v1/admin/usage/quotas").json()["items"]
    assert (quota["tenant"], quota["quota"], quota["left"]) == ("shop", None, None)
    small = {"mode": "adaptive", "quota": quota["used"] + 1, "message_price_usd": 0.02}
    assert root.put("/v1/admin/plans/small", json=small).json()["quota"] == small["quota"]
    root.patch("/v1/admin/tenants/shop", json={"plan": "small"})
    talk = house.conversation(client)
    says = [say(client, talk, text) for text in ("hello", "hello again")]
    assert [one["outcome"] for one in says] == ["answered", "blocked"]
    assert says[1]["reason_codes"] == ["QUOTA_REACHED"]
    (quota,) = client.get("/v1/admin/usage/quotas").json()["items"]
    assert (quota["plan"], quota["used"], quota["left"]) == ("small", small["quota"], 0)
    assert quota["message_price_usd"] == 0.02
    is_a_problem(root.put("/v1/admin/plans/small", json={**small, "quota": -1}), 422)
    root.patch("/v1/admin/tenants/shop", json={"plan": before})


def test_tenants_come_by_id_and_in_pages(house: House) -> None:
    root = house.operator("root")
    first = root.get("/v1/admin/tenants?limit=2").json()
    assert [one["id"] for one in first["items"]] == ["shop", "shop-he"]
    assert [one["id"] for one in root.get(f"/v1/admin/tenants?after={first['next']}").json()["items"]] == ["shop-ru"]
    assert [one["id"] for one in house.key().get("/v1/admin/tenants").json()["items"]] == ["shop"]


def test_tools_are_explained_in_words(house: House) -> None:
    tools = {one["name"]: one for one in house.key().get("/v1/admin/tools").json()}
    assert tools["cancel_order"]["effect"] == "destructive"
    assert tools["cancel_order"]["enabled"] is True
    assert tools["cancel_order"]["explanation"]
    is_a_problem(house.operator("root").get("/v1/admin/tools"), 422, "tenant_needed")
    assert house.operator("root").get("/v1/admin/tools?tenant=shop").status_code == 200


def test_a_persons_data_is_handed_over_and_deleted(both: House) -> None:
    client = both.key()
    talk = both.conversation(client, person="cust-9")
    say(client, talk, "hello, it is me", person="cust-9")
    kept = client.get("/v1/admin/persons/cust-9").json()
    assert [one["id"] for one in kept["conversations"]] == [talk]
    assert "hello, it is me" in str(kept)
    is_a_problem(both.key(OURS, "chat", "read", "manage").delete("/v1/admin/persons/cust-9"), 403)
    assert client.delete("/v1/admin/persons/cust-9").json() == {"conversations": 1}
    is_a_problem(client.get(f"/v1/conversations/{talk}"), 404)
    assert client.get("/v1/admin/persons/cust-9").json()["conversations"] == []


def test_the_log_does_not_name_a_person_who_was_deleted(both: House) -> None:
    client = both.key()
    talk = both.conversation(client, person="zoe@example.com")
    say(client, talk, "hello", person="zoe@example.com")
    other = both.conversation(client, person="max@example.com")
    for person in ("zoe@example.com", "max@example.com"):
        client.get(f"/v1/admin/persons/{person}")
    client.delete("/v1/admin/persons/zoe@example.com")
    client.get("/v1/admin/persons/zoe@example.com")
    log = client.get("/v1/admin/log").json()["items"]
    about = [one["subject"] for one in log if one["action"] in ("export_person", "delete_person")][:4]
    assert other
    assert "zoe" not in str(log)
    assert about[2] == "max@example.com"
    assert about[1] == about[3] != ""
    assert about[0] == "", "nothing is kept about anybody of that name"


def test_what_was_deleted_is_in_none_of_the_files(house: House) -> None:
    client = house.key()
    files = [Path(f"{house.settings.database.removeprefix('sqlite:///')}{end}") for end in ("", "-wal")]

    def find(words: str) -> list[str]:
        return [file.name for file in files if words.encode() in file.read_bytes()]

    talk = house.conversation(client, person="cust-7")
    say(client, talk, "the zebra ate my parcel", person="cust-7")
    alone = house.conversation(client)
    say(client, alone, "the giraffe ate my parcel")
    assert find("zebra")
    assert find("giraffe")
    assert client.delete("/v1/admin/persons/cust-7").status_code == 200
    assert client.delete(f"/v1/conversations/{alone}").status_code == 204
    # While somebody else reads, the log of changes is left for the next time that something is deleted.
    wait_until(
        lambda: not (find("zebra") or find("giraffe")) or client.delete("/v1/admin/persons/cust-7").status_code == 0,
        problem=lambda: f"zebra in {find('zebra')}, giraffe in {find('giraffe')}",
    )


# --- audit ----------------------------------------------------------------------------------------------------------

TRANSCRIPT = {
    "id": "c1",
    "messages": [
        {"role": "user", "content": "what about my order 12345?"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "1",
                    "type": "function",
                    "function": {"name": "cancel_order", "arguments": '{"order_id": "12345"}'},
                }
            ],
        },
    ],
}


def test_an_audit_says_what_would_have_been_held(house: House) -> None:
    client = house.key()
    answer = client.post("/v1/audit", json={"transcripts": [TRANSCRIPT]})
    assert answer.headers["content-type"].startswith("application/x-ndjson")
    import orjson

    lines = [orjson.loads(line) for line in answer.text.splitlines()]
    assert lines[0]["tool"] == "cancel_order"
    assert lines[0]["verdict"] in ("ask", "escalate", "deny")
    assert lines[-1]["summary"]["calls"] == 1
    raw = orjson.dumps(TRANSCRIPT) + b"\n{broken\n"
    same = client.post("/v1/audit", content=raw, headers={"Content-Type": "application/x-ndjson"})
    again = [orjson.loads(line) for line in same.text.splitlines()]
    assert again[0] == lines[0]
    assert again[1]["kind"] == "malformed"
    is_a_problem(client.post("/v1/audit", content=b"x", headers={"Content-Type": "text/plain"}), 415)
    is_a_problem(client.post("/v1/audit", json={"transcripts": "x"}), 422)
    is_a_problem(house.key(OURS, "chat").post("/v1/audit", json={"transcripts": []}), 403)


def test_an_audit_of_which_nothing_could_be_read_is_a_problem_and_no_pass(house: House) -> None:
    client = house.key()
    unknown = client.post("/v1/audit", json={"transcripts": [{"steps": [{"tool_calls": [{"name": "pay"}]}]}]})
    is_a_problem(unknown, 422, "nothing_read")
    assert "members: steps; it seems to hold tool calls" in unknown.text
    for words in ("Hello.", "Action: pay\nAction Input: {}", "<function=pay>{}</function>"):
        said = {"messages": [{"role": "user", "content": "hello"}, {"role": "assistant", "content": words}]}
        is_a_problem(client.post("/v1/audit", json={"transcripts": [said]}), 422, "nothing_read")
    is_a_problem(client.post("/v1/audit", content=b"", headers={"Content-Type": "application/x-ndjson"}), 422)


def test_an_audit_opens_no_files_of_the_server(house: House, tmp_path) -> None:
    secret = tmp_path / "tools.json"
    secret.write_text('[{"type": "function", "function": {"name": "secret_tool"}}]')
    answer = house.key().post("/v1/audit", json={"transcripts": [{**TRANSCRIPT, "tools": str(secret)}]})
    assert "secret_tool" not in answer.text
    is_a_problem(answer, 422, "nothing_read")
