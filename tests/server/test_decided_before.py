"""Two who decide on one approval in the same moment: the second is told who was first, and nothing else happens."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
import sqlalchemy as sa
from tests.patience import wait_until
from tests.server.house import House, is_a_problem
from tests.server.rows import escalation
from tests.server.test_people import FOUR_EYES, wait_for_four_eyes

from circumspect.stores import SqlStore
from circumspect.stores.tables import conversations, messages, turns

DONE = {"approve": "approved", "deny": "denied", "edit": "changed"}


@pytest.fixture(scope="module")
def four_eyes(both: House) -> House:
    put = both.key().put("/v1/admin/policies", json={"text": FOUR_EYES, "note": "four eyes"})
    assert put.status_code == 200, put.text
    wait_until(lambda: "colleague" in both.key().get("/v1/admin/tools").text)
    return both


@contextmanager
def answered_elsewhere(house: House, talk: str) -> Iterator[None]:
    """As if another worker were answering it: whoever decides meanwhile has seen that it waits, and is kept waiting."""
    set_lease(house, talk, "elsewhere", time.time() + 300)
    try:
        yield
    finally:
        set_lease(house, talk, None, 0.0)


def set_lease(house: House, talk: str, token: str | None, until: float) -> None:
    change = sa.update(conversations).where(conversations.c.id == talk)

    async def body(store: SqlStore) -> None:
        await store.tx(lambda connection: connection.execute(change.values(lease_token=token, lease_until=until)) and 0)

    house.stored(body)


def count_rows(house: House, table: sa.Table, talk: str) -> int:
    query = sa.select(sa.func.count()).select_from(table).where(table.c.conversation == talk)

    async def body(store: SqlStore) -> int:
        return await store.tx(lambda connection: int(connection.execute(query).scalar_one()))

    return house.stored(body)


def decide_at_once(house: House, talk: str, decisions: list[tuple[httpx.Client, str, Any]]) -> list[httpx.Response]:
    """All of them have passed every check that comes before the turn when the first one is let on."""
    under_way = house.app.state.services.turns
    with ThreadPoolExecutor(len(decisions)) as pool:
        with answered_elsewhere(house, talk):
            sent = [pool.submit(who.post, path, json=body) for who, path, body in decisions]
            wait_until(lambda: len(under_way) == len(decisions))
        return [one.result() for one in sent]


@pytest.mark.parametrize(
    ("one", "other"),
    [("approve", "deny"), ("approve", "approve"), ("approve", "edit"), ("deny", "deny"), ("edit", "edit")],
)
def test_whoever_is_second_is_told_who_was_first_and_has_done_nothing(four_eyes: House, one: str, other: str) -> None:
    client, noa, root = four_eyes.key(), four_eyes.operator("noa"), four_eyes.operator("root")
    talk = four_eyes.conversation(client)
    held = wait_for_four_eyes(four_eyes, talk, "12350")
    shown = noa.get(f"/v1/approvals/{held}").json()
    before = count_rows(four_eyes, turns, talk)
    wanted = []
    for name, who, verb in (("noa", noa, one), ("root", root, other)):
        body = {"hash": shown["hash"]}
        if verb == "edit":
            body["arguments"] = {**shown["arguments"], "reason": f"as {name} would have it"}
        wanted.append((who, f"/v1/approvals/{held}/{verb}", body))
    answers = decide_at_once(four_eyes, talk, wanted)
    assert sorted(answer.status_code for answer in answers) == [200, 409], [answer.text for answer in answers]
    first = 0 if answers[0].status_code == 200 else 1
    name, verb = (("noa", one), ("root", other))[first]
    told = is_a_problem(answers[1 - first], 409, "settled")
    assert told["problem"].startswith(f"Already decided: {DONE[verb]} by {name} at "), told
    after = noa.get(f"/v1/approvals/{held}").json()
    assert after["settled_by"] == name
    assert after["settled_at"][:16].replace("T", " ") in told["problem"]
    assert count_rows(four_eyes, turns, talk) == before + 1
    logged = root.get("/v1/admin/log").json()["items"]
    assert [(row["by"], row["action"], row["result"]) for row in logged if row["subject"] == held] == [
        (name, verb, "done")
    ]
    later = {"hash": shown["hash"]}
    again = is_a_problem(root.post(f"/v1/approvals/{held}/deny", json=later), 409, "settled")
    assert again["problem"] == told["problem"]
    assert count_rows(four_eyes, turns, talk) == before + 1


def test_a_decision_that_comes_too_late_leaves_no_word_in_the_conversation(four_eyes: House) -> None:
    noa, root = four_eyes.operator("noa"), four_eyes.operator("root")
    talk = four_eyes.conversation(four_eyes.key())
    held = wait_for_four_eyes(four_eyes, talk, "12349")
    path, body = f"/v1/approvals/{held}/deny", {"hash": noa.get(f"/v1/approvals/{held}").json()["hash"]}
    one = decide_at_once(four_eyes, talk, [(noa, path, body), (root, path, body), (noa, path, body)])
    assert sorted(answer.status_code for answer in one) == [200, 409, 409]
    kept = count_rows(four_eyes, messages, talk)
    assert root.post(path, json=body).status_code == 409
    assert count_rows(four_eyes, messages, talk) == kept
    decided = [
        row
        for row in root.get(f"/v1/conversations/{talk}/messages?internal=true").json()["items"]
        if "deny" in str(row["content"])
    ]
    assert len(decided) == 1


def test_what_a_colleague_resolved_is_not_resolved_once_more(four_eyes: House) -> None:
    noa, root = four_eyes.operator("noa"), four_eyes.operator("root")
    id_ = escalation(four_eyes, "shop", four_eyes.conversation(four_eyes.key()))
    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda who: who.post(f"/v1/escalations/{id_}/resolve"), (noa, root)))
    assert sorted(answer.status_code for answer in answers) == [200, 409]
    name = ("noa", "root")[[answer.status_code for answer in answers].index(200)]
    told = next(answer for answer in answers if answer.status_code == 409)
    assert is_a_problem(told, 409, "taken")["problem"] == f"{name} has resolved this escalation."
    first = {"noa": noa, "root": root}[name]
    assert first.post(f"/v1/escalations/{id_}/resolve").status_code == 200, "pressed twice"
    logged = root.get("/v1/admin/log").json()["items"]
    assert [(row["by"], row["action"]) for row in logged if row["subject"] == id_] == [(name, "resolve")]
