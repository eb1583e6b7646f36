"""What pages ask the database, on SQLite and on PostgreSQL: the same questions have the same answers."""

from __future__ import annotations

import asyncio
import secrets
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, time, timedelta
from typing import Any

import pytest
from tests.server.house import SECRET
from tests.stores.conftest import BOTH, postgres  # noqa: F401

from circumspect.demo.demo_data import seed_demo
from circumspect.demo.samples.apply_samples import apply_samples
from circumspect.server.config import Settings
from circumspect.server.console import pages
from circumspect.server.console.conversation_search import ConversationFilter, find, tool_names
from circumspect.server.console.conversation_story import read_story
from circumspect.server.console.figures import Figures, TurnSums, figures
from circumspect.server.console.i18n import Translator
from circumspect.server.console.live_updates import read_hint_states
from circumspect.server.console.overview_tiles import build_tiles
from circumspect.server.console.pages.conversations import build_story_context
from circumspect.stores import SqlStore, action_log, prompts
from circumspect.stores.people import ListCursor, get_conversation
from circumspect.values import ConversationId, TenantId

NOW = datetime(2026, 11, 10, 12, tzinfo=UTC)
WANTED = {
    "all": (ConversationFilter(), None),
    "outcome": (ConversationFilter(outcome="escalated"), None),
    "reason": (ConversationFilter(reason="MISSING_PARAM", days=30), None),
    "tool": (ConversationFilter(tool="refund"), None),
    "held": (ConversationFilter(held=True), None),
    "prevented": (ConversationFilter(fate="prevented", days=30), None),
    "done": (ConversationFilter(fate="done", language="he"), "shop-he"),
    "critique": (ConversationFilter(critique=True, language="he"), "shop-he"),
    "words": (ConversationFilter(q="Отменить"), "shop-ru"),
    "percent": (ConversationFilter(q="100%_"), "nobody"),
    "standard": (ConversationFilter(mode="standard"), None),
}


@pytest.fixture(scope="module", params=BOTH)
def played(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a database with demo data in it."""
    server, name = None, f"console_{secrets.token_hex(4)}"
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path_factory.mktemp('queries')}/queries.db"
    else:
        server = request.getfixturevalue("postgres")
        server.sql(f"CREATE DATABASE {name}")
        url = server.url(name)

    async def play() -> None:
        opened, settings = await SqlStore.open(url), Settings(database=url, secret_key=SECRET)
        try:
            await apply_samples(opened, settings)
            await seed_demo(opened, settings, now=NOW, share=0.3)
        finally:
            await opened.close()

    asyncio.run(play())
    yield url
    if server is not None:
        server.sql(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
async def store(played: str) -> AsyncIterator[SqlStore]:
    opened = await SqlStore.open(played)
    yield opened
    await opened.close()


async def test_the_same_questions_have_the_same_answers(store: SqlStore) -> None:
    every = (await store.tx(find, None, ConversationFilter(), NOW, None, 500)).rows
    for name, (wanted, tenant) in WANTED.items():
        found = (await store.tx(find, None, wanted, NOW, None, 500)).rows
        if tenant == "nobody":
            assert not found, name
            continue
        assert 0 < len(found) <= len(every), name
        assert tenant is None or {one.tenant for one in found} == {tenant}, name
        assert [one.updated_at for one in found] == sorted((one.updated_at for one in found), reverse=True)
    for said in ("", "refund", "order 12345"):
        assert not (await store.tx(find, [], ConversationFilter(q=said), NOW, None, 5)).rows, said
    assert "refund" in await store.tx(tool_names, None)


async def test_pages_of_a_list_meet_without_overlap(store: SqlStore) -> None:
    every = [one.id for one in (await store.tx(find, None, ConversationFilter(), NOW, None, 500)).rows]
    seen, after = [], None
    while True:
        some = (await store.tx(find, None, ConversationFilter(), NOW, after, 7)).rows
        if not some:
            break
        seen += [one.id for one in some]
        after = ListCursor(some[-1].updated_at.timestamp(), some[-1].id)
    assert seen == every


async def test_figures_add_up(store: SqlStore) -> None:
    since = NOW - timedelta(days=40)
    found = await store.tx(figures, None, since, NOW, {TenantId("shop"): 1000})
    assert found.total.turns == sum(day.turns for day in found.days.values()) > 20
    assert sum(found.total.outcomes.values()) == found.total.turns
    assert found.total.standard_tokens > found.total.tokens * 0.5
    assert dict(found.prevented)["DESTRUCTIVE_NO_CONFIRM"] > 0
    of_each = [await store.tx(figures, [TenantId(name)], since, NOW, {}) for name in ("shop", "shop-he", "shop-ru")]
    assert sum(one.total.turns for one in of_each) == found.total.turns
    assert (await store.tx(figures, [], since, NOW, {})).total.turns == 0


async def test_two_periods_beside_one_another_share_no_turn(store: SqlStore) -> None:
    whole = await store.tx(figures, None, NOW - timedelta(days=40), NOW, {})
    middle = next(day for day, sums in reversed(whole.days.items()) if sums.turns)
    begins = datetime.combine(middle, time(), UTC)
    newer = await store.tx(figures, None, begins, NOW, {})
    older = await store.tx(figures, None, NOW - timedelta(days=40), begins - timedelta(days=1), {}, is_over=True)
    assert newer.total.turns + older.total.turns == whole.total.turns
    assert newer.prevented_count + older.prevented_count == whole.prevented_count
    assert newer.escalations + older.escalations == whole.escalations
    assert min(newer.total.turns, older.total.turns) > 0
    assert sum(day.prevented for day in whole.days.values()) == whole.prevented_count
    assert sum(day.escalations for day in whole.days.values()) == whole.escalations


async def test_a_tile_says_what_was_before_and_by_how_much_it_changed() -> None:
    def of(turns: int, criticised: int) -> Figures:
        sums = TurnSums(turns=turns, criticised=criticised)
        return Figures(sums, {NOW.date(): sums}, 0, Counter(), (), ())

    tiles = {one.name: one for one in build_tiles(of(150, 30), of(100, 25), Translator("en"))}
    assert (tiles["turns"].was, tiles["turns"].change, tiles["turns"].rose) == ("100", "50%", 1)
    assert (tiles["critique"].was, tiles["critique"].change, tiles["critique"].rose) == ("25.0%", "5.0 points", -1)
    assert tiles["context"].rose == 0
    new = {one.name: one for one in build_tiles(of(150, 30), of(0, 0), Translator("en"))}
    assert (new["turns"].was, new["turns"].change, new["turns"].rose) == ("0", "", 1)
    assert {new[name].was for name in ("critique", "escalation", "tokens")} == {""}


async def test_a_story_knows_where_arguments_came_from(store: SqlStore) -> None:
    def read(connection: Any) -> Any:
        conversation = get_conversation(connection, [TenantId("shop")], ConversationId("demo-shop-002"))
        return read_story(connection, conversation, debug=True)

    story = await store.tx(read)
    values = await build_story_context(story, debug=True, path="/x")
    origins = {source.origin for sources in values["traced"].values() for source in sources.values()}
    assert "user" in origins
    assert [item.by for item in story.items if item.by != "step"] == ["user", "agent", "user", "agent"]
    assert story.items[-1].times is None or story.items[-1].times.usage.mode


async def test_versions_are_counted_as_their_uses_are_listed(store: SqlStore) -> None:
    shop = TenantId("shop")
    used = await store.tx(prompts.counts, shop)
    assert {id_.partition("@")[0] for id_ in used} >= {"adaptive", "critique"}
    for id_, count in used.items():
        assert count == len(await store.tx(prompts.uses, shop, id_, 1000)) > 0, id_
    assert sum((await store.tx(prompts.counts, shop, 3)).values()) < sum(used.values())


async def test_experiments_and_shadows_are_listed_with_what_they_say(store: SqlStore) -> None:
    (tried,) = await store.tx(pages.experiments._read_rows, None, None, NOW.timestamp())
    assert [(one.kind, one.why) for one in tried.says] == [("stopped", "The conversations of the demo are over.")]
    (beside,) = await store.tx(pages.shadows._read_rows, None, None)
    assert 0 < beside.summary.same < beside.summary.turns
    assert not await store.tx(pages.experiments._read_rows, frozenset({TenantId("shop-he")}), None, NOW.timestamp())
    done = await store.tx(action_log.list_actions, allowed={TenantId("shop")}, subject="demo-careful")
    assert [row.action for row in done] == ["stop_experiment", "set_share", "start_experiment", "create_experiment"]


async def test_a_look_changes_when_something_does(store: SqlStore) -> None:
    topics = {"conversations", "inbox", "conversation:shop/demo-shop-001"}
    before = await store.tx(read_hint_states, topics)
    assert before == await store.tx(read_hint_states, topics)
    rows = await store.escalations(TenantId("shop"), "open")
    await store.resolve(next(row.id for row in rows if not row.asks_outcome), by="somebody")
    after = await store.tx(read_hint_states, topics)
    assert {key for key in before if before[key] != after.get(key)} == {("shop", "inbox")}
