"""Usage: counted, drawn, grouped and exported, by whoever may see it."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from tests.server.console.building import Browsing, ConsoleHouse, overflow, serious
from tests.server.console.test_numbers import ask

from circumspect.reasons import ReasonCode
from circumspect.server.console.i18n import Translator
from circumspect.server.console.pages.usage import Total, _charts, totals
from circumspect.server.schemas.admin import UsageRowShown
from circumspect.stores import SqlStore, labels
from circumspect.stores.admin import UsageRow
from circumspect.stores.day_counts import count_turn
from circumspect.stores.evaluation_usage import count_verdict
from circumspect.stores.labels import LabelKind, LabelRow
from circumspect.stores.measures import list_measures
from circumspect.stores.tables import usage
from circumspect.values import Plan, TenantId, Usage

MODEL = '=cmd|"<img src=x onerror=document.title=1>"'


def test_months_are_one_click_away(house: ConsoleHouse) -> None:
    now = house.app.state.services.clock.now()
    last = (now.replace(day=1) - timedelta(days=1)).strftime("%Y-%m")
    with house.visitor("noa") as visitor:
        page = visitor.get(f"/usage?period={last}").text
        chips = re.findall(r'<a class="button chip" href="([^"]+)"( aria-current="true")?>([^<]+)</a>', page)
        assert [(name, bool(current)) for _, current, name in chips] == [
            ("This month", False),
            ("Last month", True),
            ("Any time", False),
        ]
        assert f"period={now:%Y-%m}" in chips[0][0]
        assert 'aria-current="true">This month' in visitor.get(chips[0][0].replace("&amp;", "&")).text


def test_how_content_users_were_is_said_of_the_time_that_is_chosen(house: ConsoleHouse) -> None:
    now = house.app.state.services.clock.now()

    def add(connection: sa.Connection) -> None:
        for id_, at in (("new", now), ("old", now - timedelta(days=400)), ("older", now - timedelta(days=800))):
            row = LabelRow(
                TenantId("shop-ru"),
                id_,
                f"c-{id_}",
                None,
                "thumbs_up",
                None,
                None,
                None,
                None,
                "train",
                "x",
                at.timestamp(),
            )
            labels.put(connection, row)

    house.stored(lambda store: store.tx(add))
    ups = "SELECT count(*) FROM labels WHERE kind = 'thumbs_up' AND tenant = 'shop-ru'"
    of_month = f"{ups} AND strftime('%Y-%m', at, 'unixepoch') = '{now:%Y-%m}'"
    with house.visitor("noa") as visitor:
        for period, title, query in (("", "Any time", ups), (f"{now:%Y-%m}", f"{now:%b %Y}", of_month)):
            page = visitor.get(f"/usage?tenant=shop-ru&period={period}").text
            measures = page.split("<h2>How content users were: ")[1].split("</section>")[0]
            assert measures.startswith(f"{title}</h2>")
            assert page.index("Adaptive messages") < page.index("How content users were"), "what was used comes first"
            shown = re.search(r'data-label="[^"]+">([\d,]+)</td>', measures.split("</bdi></td>", 2)[2])
            assert shown is not None
            assert [(int(shown[1]),)] == ask(house, query), period


@pytest.fixture(scope="module")
def priced(house: ConsoleHouse) -> ConsoleHouse:
    """Some of it by models that cost something, a while ago."""

    async def add(store: SqlStore) -> None:
        await store.tx(_add)

    house.stored(add)
    return house


def _add(connection: sa.Connection) -> None:
    for tenant, period, mode, model, cost in (
        ("shop", "2025-01", "adaptive", "openai:gpt-4o", 2.5),
        ("shop", "2025-01", "standard", MODEL, 1.0),
        ("shop-he", "2025-02", "adaptive", "openai:gpt-4o", 0.75),
    ):
        row = UsageRow(TenantId(tenant), period, mode, model, 10, 4, 5, 1, 20, 9000, 1000, cost, cost * 2)  # type: ignore[arg-type]
        connection.execute(sa.insert(usage).values(dict(zip(usage.c.keys(), _fields(row), strict=True))))


def _fields(row: UsageRow) -> list[Any]:
    return [getattr(row, name) for name in UsageRow.__dataclass_fields__]


def test_usage_is_read_by_month_tenant_model_and_mode(browsing: Browsing, priced: ConsoleHouse) -> None:
    with browsing.as_("noa") as page:
        page.goto("/usage")
        page.select_option("select[name=period]", "2025-01")
        page.wait_for_url("**period=2025-01*")
        page.wait_for_selector("#usage .tile >> text=of 20 messages")
        tiles = page.locator("#usage .tile").all_inner_texts()
        assert tiles[0].split("\n") == ["Adaptive messages", "10", "of 20 messages"]
        assert tiles[1].split("\n") == ["Second opinions", "8", "80.0% of adaptive messages"]
        assert tiles[2].split("\n") == ["Context fetches", "10", "1.00 per adaptive message"]
        assert tiles[3].split("\n") == ["Tokens", "20,000", "18,000 in, 2,000 out"]
        assert tiles[4].split("\n") == ["Cost", "$3.50", "$7.00 on the bill"]
        page.select_option("select[name=by]", "model")
        page.wait_for_selector("#usage td.name >> text=openai:gpt-4o")
        assert page.locator("#usage svg rect[data-tip*='openai:gpt-4o']").count() > 0
        page.select_option("select[name=by]", "tenant")
        page.wait_for_selector("#usage table a >> text=Kestrel")
        page.click("#usage table a >> text=Kestrel")
        page.wait_for_url("**tenant=shop*")
        assert page.input_value("select[name=tenant]") == "shop"
        page.go_back()
        page.wait_for_selector("#usage table a >> text=Kestrel")
        assert page.title() != "1"


def test_the_table_is_exported_as_it_is_filtered(browsing: Browsing, priced: ConsoleHouse) -> None:
    with browsing.as_("noa") as page:
        page.goto("/usage")
        page.select_option("select[name=period]", "2025-01")
        page.wait_for_selector("a[href='/usage.csv?period=2025-01']")
        with page.expect_download() as downloading:
            page.click("a[download]")
        assert downloading.value.suggested_filename == "usage-2025-01.csv"
        text = downloading.value.path().read_text("utf-8")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert list(rows[0]) == list(UsageRowShown.model_fields)
    assert {row["model"]: row["cost_usd"] for row in rows} == {"openai:gpt-4o": "2.5", f"'{MODEL}": "1.0"}


def test_nobody_counts_what_belongs_to_others(priced: ConsoleHouse) -> None:
    with priced.visitor("theirs") as visitor:
        for path in ("/usage", "/usage?by=tenant", "/usage.csv", "/usage.csv?period=2025-01"):
            page = visitor.get(path)
            assert page.status_code == 200
            assert not re.search(r"Kestrel|shop-he|\bshop\b(?!-ru)|gpt-4o", page.text), path
        assert visitor.get("/usage?tenant=shop").status_code == 404
        assert visitor.get("/usage.csv?tenant=shop").status_code == 404


@pytest.mark.parametrize("period", ["2025", "2025-13", "2025-1", "9999-99", "0000-01", "x" * 50])
def test_a_period_that_is_none_is_refused(house: ConsoleHouse, period: str) -> None:
    with house.visitor("noa") as visitor:
        assert visitor.get(f"/usage?period={period}").status_code == 422
        assert visitor.get(f"/usage.csv?period={period}").status_code == 422


def test_an_empty_period_says_so_and_an_unknown_grouping_is_the_first(house: ConsoleHouse) -> None:
    with house.visitor("noa") as visitor:
        assert "Nothing was used in this period" in visitor.get("/usage?period=2999-12").text
        assert "Messages by month" in visitor.get("/usage?by=nothing").text


def test_days_of_a_month_are_counted_as_the_table_counts_the_month(house: ConsoleHouse) -> None:
    async def look(store: SqlStore) -> tuple[str, int]:
        rows = await store.tx(lambda connection: connection.execute(sa.select(usage.c.period, usage.c.messages)).all())
        period = max(row.period for row in rows)
        return period, sum(row.messages for row in rows if row.period == period)

    period, messages = house.stored(look)
    with house.visitor("noa") as visitor:
        page = visitor.get(f"/usage?period={period}").text
    chart = page.split('id="usage-messages-title"')[1].split("</svg>")[0]
    assert sum(int(count) for count in re.findall(r'data-tip="[^"]*: (\d+)"', chart)) == messages


def row(mode: str = "adaptive", model: str = "m", period: str = "2026-01", **more: Any) -> UsageRow:
    values = {"messages": 1, "critiques": 0, "input_tokens": 10, "output_tokens": 1, "cost": 0.0, **more}
    return UsageRow(
        TenantId("shop"), period, mode, model, values["messages"], values["critiques"], 0, 0, 1,  # type: ignore[arg-type]
        values["input_tokens"], values["output_tokens"], values["cost"], values["cost"],
    )  # fmt: skip


def test_reviews_of_cases_have_a_table_by_controller(house: ConsoleHouse) -> None:
    used = {"model": None, "model_calls": 0, "input_tokens": 0, "output_tokens": 0, "cost_usd": 0.0, "seconds": 0.5}

    async def reviewed(store: SqlStore) -> None:
        for status in ("MET", "UNCERTAIN", "UNCERTAIN", "UNCERTAIN"):
            result = {"status": status, "controller": "heuristic", "usage": used}
            await store.tx(count_verdict, "shop", result, 1_700_000_000.0, 1.0)

    house.stored(reviewed)
    with house.visitor("noa") as visitor:
        page = visitor.get("/usage?tenant=shop&period=2023-11").text
        assert "Reviews of cases" in page
        assert "Without a model" in page
        assert re.search(r"75(\.0)?.?%", page)
        table = visitor.get("/usage/evaluations.csv?tenant=shop&period=2023-11").text.splitlines()
    assert table[0].startswith("tenant,period,controller,model,verdicts")
    assert table[1].startswith("shop,2023-11,heuristic,,4,1,0,3,0.75")
    with house.visitor("theirs") as visitor:
        assert visitor.get("/usage/evaluations.csv?tenant=shop").status_code == 404
        assert "heuristic" not in visitor.get("/usage/evaluations.csv").text


def test_what_adaptive_mode_does_is_set_against_adaptive_messages() -> None:
    total = Total()
    for one in (row(critiques=1), row(critiques=0), row("standard", messages=98)):
        total.add(one)
    assert (total.messages, total.adaptive, total.critique_share) == (100, 2, 0.5)
    assert Total().critique_share is None
    assert Total().fetches_each == 0.0


def test_totals_are_in_order_whatever_they_go_by() -> None:
    rows = [row(period="2026-02"), row(period="2025-12", model="b"), row("standard", model="a")]
    assert list(totals(rows, "period")) == ["2025-12", "2026-01", "2026-02"]
    assert list(totals(rows, "model")) == ["a", "b", "m"]
    assert sum(one.messages for one in totals(rows, "mode").values()) == 3


@pytest.mark.parametrize(("tokens", "title"), [(500, ""), (50_000, "-thousands"), (50_000_000, "-millions")])
def test_large_numbers_of_tokens_are_drawn_in_their_unit(tokens: int, title: str) -> None:
    chosen = {"by": "period", "period": "", "tenant": ""}
    made = _charts([row(input_tokens=tokens, output_tokens=0)], {}, chosen, {}, Translator("en"))
    assert made["tokens_title"] == f"usage-chart-tokens{title}"
    assert all(len(label.text) <= 8 for label in made["tokens_chart"].labels)


def test_many_models_are_drawn_as_the_dearest_and_the_rest() -> None:
    rows = [row(model=f"m{number}", cost=float(number)) for number in range(1, 12)]
    chosen = {"by": "period", "period": "", "tenant": ""}
    legend = [name for _, name in _charts(rows, {}, chosen, {}, Translator("en"))["cost_chart"].legend]
    assert legend == ["m11", "m10", "m9", "m8", "m7", "other models"]


def test_in_hebrew_time_runs_to_the_left() -> None:
    rows = [row(period="2026-01"), row(period="2026-02")]
    chosen = {"by": "period", "period": "", "tenant": ""}
    january, february = _charts(rows, {}, chosen, {}, Translator("he"))["messages_chart"].shapes
    assert january.x > february.x
    assert f"{datetime(2026, 1, 1, tzinfo=UTC):%Y}" in january.tip


@pytest.mark.parametrize(("language", "theme"), [("en", "light"), ("he", "dark"), ("ru", "dark")])
def test_the_page_of_usage_can_be_used_by_everyone(
    browsing: Browsing, priced: ConsoleHouse, language: str, theme: str
) -> None:
    with browsing.as_("rita", language=language, theme=theme) as page:
        for path in ("/usage?by=model", "/usage?period=2025-01"):
            page.goto(path)
            assert serious(page) == [], path
            for width in (1440, 768, 360):
                page.set_viewport_size({"width": width, "height": 900})
                assert overflow(page) <= 0, (path, width)


def test_thumbs_apologies_and_saved_searches_have_a_table(house: ConsoleHouse) -> None:
    shop, when = TenantId("shop"), datetime(2023, 11, 14, tzinfo=UTC)

    def give(connection: sa.Connection, id_: str, kind: LabelKind, at: datetime) -> None:
        row = LabelRow(shop, id_, f"c-{id_}", None, kind, None, None, None, None, "train", "x", at.timestamp())
        labels.put(connection, row)

    def add(connection: sa.Connection) -> None:
        for number in range(3):
            give(connection, f"up{number}", "thumbs_up", when)
        give(connection, "down", "thumbs_down", when)
        give(connection, "corrected", "correct", when)
        give(connection, "later", "thumbs_down", datetime(2023, 12, 1, tzinfo=UTC))
        for codes in ((ReasonCode.APOLOGY_LOOP, ReasonCode.SEARCH_SAVED), (ReasonCode.SEARCH_SAVED,)):
            count_turn(connection, shop, when, "answered", Usage("adaptive"), codes)

    house.stored(lambda store: store.tx(add))
    (found,) = house.stored(lambda store: store.tx(list_measures, frozenset({shop}), "2023-11"))
    assert (found.thumbs_up, found.thumbs_down, found.satisfaction) == (3, 2, 0.6)
    assert (found.apology_loops, found.searches_saved) == (1, 2)
    assert house.stored(lambda store: store.tx(list_measures, frozenset({TenantId("shop-he")}), "2023-11")) == []
    with house.visitor("noa") as visitor:
        page = visitor.get("/usage?tenant=shop&period=2023-11").text
    assert "How content users were" in page
    assert re.search(r"60.?%", page)


def test_quotas_of_the_month_have_a_table_with_what_is_used(house: ConsoleHouse) -> None:
    async def limit(store: SqlStore) -> Plan:
        plan = next(one.plan for one in await store.tenants() if one.id == "shop")
        await store.put_plan(replace(plan, quota=4_321, message_price=0.02))
        return plan

    with house.visitor("noa") as visitor:
        assert "Quotas of this month" not in visitor.get("/usage?tenant=shop").text
        before = house.stored(limit)
        page = visitor.get("/usage?tenant=shop").text
        house.stored(lambda store: store.put_plan(before))
    assert "Quotas of this month" in page
    assert "4,321" in page
    assert "$0.02" in page
