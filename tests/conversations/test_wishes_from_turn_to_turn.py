"""What the user wants is handed from turn to turn, and comes to the same as reading everything that was said again."""

import json
import sqlite3
from pathlib import Path

import pytest

from circumspect.demo import samples
from circumspect.models.scripted import says

TALK = [f"What are your opening hours{'?' * number}" for number in range(1, 7)]
TALKS = {
    "an order cancelled after much talk": ["hi", *TALK, "cancel order 12345", "yes", "thanks", "cancel order 12345"],
    "a wish put aside by talk and taken up again": ["I want to cancel my order", *TALK, "12345", "yes"],
    "two wishes, the first refused": ["cancel order 12345 and order 12346", "no", *TALK[:3], "yes", "and 12345 too"],
    "another one after all": ["cancel order 12345", "wait, I meant 12346", *TALK[:2], "yes", "cancel 12345", "yes"],
    "dropped and wished for again": ["cancel order 12345", "no", *TALK, "cancel it after all", "12345", "yes"],
}


def change(tmp_path: Path, statement: str, *values: object) -> None:
    with sqlite3.connect(tmp_path / "circumspect.db") as database:
        assert database.execute(statement, values).rowcount == 1


def read_kept(tmp_path: Path) -> dict:
    with sqlite3.connect(tmp_path / "circumspect.db") as database:
        ((kept,),) = database.execute("SELECT wishes FROM conversations").fetchall()
    return json.loads(kept)


@pytest.mark.parametrize("said", TALKS.values(), ids=TALKS.keys())
async def test_a_turn_that_was_handed_the_wishes_answers_like_one_that_reads_everything_again(
    shop, clock, tmp_path, said
):
    (tmp_path / "elsewhere").mkdir()
    another = samples.load("shop", directory=tmp_path / "elsewhere", now=clock.now())
    told, forgot = shop(), shop(tools=another.tools, database=f"sqlite:///{tmp_path}/forgetful.db")
    handed = 0
    for words in said:
        one, other = await told.user(words).sent(), await forgot.user(words).sent()
        assert (one.outcome, one.reply, one.reason_codes) == (other.outcome, other.reply, other.reason_codes), words
        with sqlite3.connect(tmp_path / "circumspect.db") as database:
            handed += len(database.execute("SELECT 1 FROM conversations WHERE wishes IS NOT NULL").fetchall())
        with sqlite3.connect(tmp_path / "forgetful.db") as database:
            database.execute("UPDATE conversations SET wishes = NULL")
    assert handed >= 2


BOGUS = {"tool": "cancel_order", "arguments": {"order_id": "99999"}, "said": "", "is_read": True, "touched": -2}


@pytest.mark.parametrize("between", ["nothing", "a message", "other tools"])
async def test_what_was_handed_on_counts_only_where_nothing_happened_in_between(shop, tmp_path, between):
    chat = shop(replies=[says("Good day."), says("At nine."), says("At nine."), says("At nine.")])
    await chat.user("hello").sent()
    kept = read_kept(tmp_path)
    kept["wishes"] = [{**BOGUS, "state": "open"}]
    if between == "other tools":
        kept["tools"] = "others"
    change(tmp_path, "UPDATE conversations SET wishes = ?", json.dumps(kept))
    if between == "a message":
        change(tmp_path, "UPDATE conversations SET next_seq = next_seq + 1")
    await chat.user("When do you open?").sent()
    heeded = any("99999" in request.system for request in chat.agent.model.requests)
    assert heeded is (between == "nothing")


async def test_a_wish_that_is_long_past_is_not_handed_on_for_ever(shop, tmp_path):
    chat = shop(replies=lambda *_: says("At nine."))
    await chat.user("hello").sent()
    kept = read_kept(tmp_path)
    kept["wishes"] = [{**BOGUS, "state": "open", "touched": -399}]
    change(tmp_path, "UPDATE conversations SET wishes = ?", json.dumps(kept))
    await chat.user("When do you open?").sent()
    assert read_kept(tmp_path)["wishes"] == []
