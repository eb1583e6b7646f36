"""Corrections of verdicts: who may make them, what is kept of them, and that they go when the case goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import httpx
import pytest
from tests.server.house import OURS, THEIRS, House, is_a_problem
from tests.server.test_evaluations import done, send

from circumspect.lab.learning.outcomes import gather
from circumspect.lab.optimise.dataset import part_of
from circumspect.stores import SqlStore, corrections, labels
from circumspect.stores.corrections import Correction
from circumspect.stores.labels import OF_EVALUATIONS, LabelRow
from circumspect.values import TenantId


def reviewed(house: House, case: str = "C-1") -> str:
    """An evaluation in which K-1 is MET and K-2 is UNCERTAIN."""
    id_ = str(send(house.key(), case=case)["id"])
    assert [one["status"] for one in done(house.key(), id_)["results"]] == ["MET", "UNCERTAIN"]
    return id_


def correct(client: httpx.Client, id_: str, criterion: str = "K-1", status: str = "NOT_MET", **more: Any) -> Any:
    return client.post(f"/v1/evaluations/{id_}/corrections", json={"criterion": criterion, "status": status, **more})


def kept(house: House, id_: str) -> Mapping[str, Correction]:
    async def read(store: SqlStore) -> Mapping[str, Correction]:
        return await store.tx(corrections.of, OURS, id_)

    return house.stored(read)


def rows(house: House, id_: str) -> Sequence[LabelRow]:
    async def read(store: SqlStore) -> Sequence[LabelRow]:
        return await store.tx(labels.list_labels, TenantId(OURS), [f"{OF_EVALUATIONS}{id_}"])

    return house.stored(read)


def test_a_correction_is_kept_beside_the_verdict_and_shown_with_it(both: House) -> None:
    id_ = reviewed(both)
    given = correct(both.key(OURS, "manage"), id_, why="The 30 days were over.\u0007")
    assert given.status_code == 201, given.text
    said = given.json()
    assert (said["tenant"], said["evaluation_id"], said["criterion"]) == (OURS, id_, "K-1")
    assert (said["verdict"], said["status"]) == ("MET", "NOT_MET")
    first, second = both.key(OURS, "chat").get(f"/v1/evaluations/{id_}").json()["results"]
    assert first["status"] == "MET"
    assert (first["correction"]["status"], first["correction"]["at"]) == ("NOT_MET", said["at"])
    assert first["correction"]["why"].startswith("The 30 days were over.")
    assert "correction" not in second
    [row] = rows(both, id_)
    assert (row.kind, row.decision, row.by[:4]) == ("correct", "MET", "key:")
    assert row.confidence == pytest.approx(first["confidence"])
    assert row.split == ("held" if part_of("C-1") == "held" else "train")


def test_the_newest_of_several_holds_and_each_person_has_one(both: House) -> None:
    id_ = reviewed(both)
    for who, status in (("noa", "UNCERTAIN"), ("rita", "NOT_MET"), ("noa", "MET")):
        assert correct(both.operator(who), id_, status=status).status_code == 201
    assert sorted((row.by, (row.value or {})["status"]) for row in rows(both, id_)) == [
        ("noa", "MET"),
        ("rita", "NOT_MET"),
    ]
    held = kept(both, id_)["K-1"]
    assert (held.by, held.status, held.confirms) == ("noa", "MET", True)
    log = both.operator("root").get("/v1/admin/log?tenant=shop").json()["items"]
    mine = [one["by"] for one in log if one["action"] == "correct_verdict" and one["subject"] == id_]
    assert mine == ["noa", "rita", "noa"]


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"criterion": "K-1"},
        {"criterion": "K-1", "status": "met"},
        {"criterion": "K-1", "status": "MET", "why": ""},
        {"criterion": "K-1", "status": "MET", "why": "a\x00b"},
        {"criterion": "", "status": "MET"},
        {"criterion": "K-1", "status": "MET", "confidence": 1},
    ],
)
def test_what_makes_no_sense_is_refused(house: House, wrong: dict[str, Any]) -> None:
    id_ = reviewed(house)
    is_a_problem(house.key().post(f"/v1/evaluations/{id_}/corrections", json=wrong), 422)
    assert kept(house, id_) == {}


def test_only_a_verdict_that_is_there_can_be_corrected(house: House) -> None:
    is_a_problem(correct(house.key(), reviewed(house), "K-3"), 404)
    is_a_problem(correct(house.key(), "eval_none"), 404)


def test_another_tenant_and_a_key_without_the_scope_cannot_correct(house: House) -> None:
    id_ = reviewed(house)
    is_a_problem(correct(house.key(THEIRS), id_), 404)
    is_a_problem(correct(house.operator("theirs"), id_), 404)
    is_a_problem(correct(house.key(OURS, "chat", "read", "admin"), id_), 403)
    is_a_problem(correct(house.client(), id_), 401)
    assert kept(house, id_) == {}


def test_corrections_go_when_the_case_goes_and_no_others(both: House) -> None:
    gone, stays = reviewed(both, "C-gone"), reviewed(both, "C-stays")
    for id_ in (gone, stays):
        correct(both.key(), id_, why="Dana Levi lives in Haifa.")
    assert both.key().delete("/v1/evaluations?case=C-gone").status_code == 204
    assert (rows(both, gone), len(rows(both, stays))) == ([], 1)
    is_a_problem(correct(both.key(), gone), 404)


def test_a_correction_of_a_verdict_is_no_label_of_a_turn(both: House) -> None:
    """Neither where labels for calibration are gathered, nor when a conversation is named like the evaluation."""
    id_ = reviewed(both)
    correct(both.key(), id_)
    both.conversation(both.key(), id=id_)

    async def read(store: SqlStore) -> list[str]:
        return [one.kind for one in await store.tx(lambda connection: list(gather(connection, TenantId(OURS))))]

    assert both.stored(read) == []
    assert both.key().delete(f"/v1/conversations/{id_}").status_code == 204
    assert list(kept(both, id_)) == ["K-1"]
