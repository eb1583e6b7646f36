"""What pages are made of: charts, words, templates, and the promise that no text becomes HTML."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from importlib import resources
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import circumspect.server.console
from circumspect.lab.trials.estimates import ArmData
from circumspect.lab.trials.measures import METRICS
from circumspect.lab.trials.rollout import _TABLE, Rollout, next_step
from circumspect.lab.trials.statistics import ArmSplit, ComparisonPlan, Guard, Stop, compare
from circumspect.reasons import ReasonCode
from circumspect.server.console import i18n, navigation, pages
from circumspect.server.console.charts import (
    Series,
    WaterfallSpan,
    donut,
    draw_sparkline,
    draw_stacked_bars,
    line,
    ticks,
    waterfall,
)
from circumspect.server.console.i18n import Translator, keys, pick_language
from circumspect.server.console.lab_sentences import translate_lab_sentence
from circumspect.server.console.rendering import _build_language_context, environment, link, pretty, visible
from circumspect.values import LANGUAGES, Language

ROOT = Path(circumspect.server.console.__file__).parent
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))


@given(st.floats(0, 1e9, allow_nan=False))
def test_ticks_are_round_and_reach_the_highest(highest: float) -> None:
    marks = ticks(highest)
    assert marks[0] == 0
    assert marks[-1] >= highest * 0.99
    assert 2 <= len(marks) <= 12


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=60), st.booleans())
def test_bars_stay_inside_and_mirror(values: list[int], rtl: bool) -> None:
    names = [str(number) for number in range(len(values))]
    chart = draw_stacked_bars(names, [Series("a", values, "f1"), Series("b", values, "f2")], rtl=rtl)
    for one in chart.shapes:
        assert 0 <= one.x <= chart.width - one.width + 0.2
        assert -0.2 <= one.y <= chart.height
    other = draw_stacked_bars(names, [Series("a", values, "f1"), Series("b", values, "f2")], rtl=not rtl)
    for here, there in zip(chart.shapes, other.shapes, strict=True):
        assert abs(here.x + here.width + there.x - chart.width) < 0.5


def test_a_line_has_a_gap_where_nothing_was_measured() -> None:
    chart = line(["a", "b", "c"], [Series("x", [1, float("nan"), 2], "l1")])
    path = next(one.path for one in chart.shapes if one.path)
    assert path.count("M") == 2


def test_a_donut_of_one_part_is_drawn() -> None:
    chart = donut([("only", 5, "f1", ""), ("none", 0, "f2", "")])
    assert len(chart.shapes) == 1
    assert "100%" in chart.shapes[0].tip


def test_a_waterfall_shows_what_took_no_time() -> None:
    chart = waterfall([WaterfallSpan("a", 0, 0, "f1", ""), WaterfallSpan("b", 0, 2, "f1", "")])
    assert all(one.width >= 2 for one in chart.shapes)


@pytest.mark.parametrize("language", ["he", "ru", "de"])
def test_every_text_of_a_page_that_is_translated_is(language: str) -> None:
    english, translated = keys("en"), keys(language)
    assert {page: english[page] ^ texts for page, texts in translated.items() if english[page] != texts} == {}


@pytest.mark.parametrize("language", ["he", "ru"])
def test_no_page_that_was_translated_falls_back_to_english(language: str) -> None:
    """A new page may wait for its translation; these have theirs."""
    pages = (
        "approvals conversations customer escalations experiments frame overview playground policies prompts reviews"
    )
    assert {f"{page}.ftl" for page in f"{pages} shadows tenants usage".split()} <= keys(language).keys()


@pytest.fixture
def reviews_in_english_only(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    read = i18n._read_pages
    monkeypatch.setattr(
        i18n,
        "_read_pages",
        lambda one: {page: text for page, text in read(one).items() if (one, page) != ("he", "reviews.ftl")},
    )
    i18n._bundle.cache_clear()
    yield
    i18n._bundle.cache_clear()


@pytest.mark.usefixtures("reviews_in_english_only")
@pytest.mark.parametrize(("text", "noted"), [("reviews-about", True), ("search", False)])
def test_a_page_without_a_translation_is_in_english_and_says_so(text: str, noted: bool) -> None:
    source = f'{{% extends "frame/base.html" %}}{{% block main %}}{{{{ t("{text}") }}}}{{% endblock %}}'
    words = Translator("he")
    shown = environment().from_string(source).render(_build_language_context(words), who=None, live="", here="/")
    assert (words.t("untranslated") in shown) is noted
    assert (Translator("en").t(text) in shown) is noted


def test_a_language_without_texts_of_the_console_is_shown_in_english_and_says_so() -> None:
    source = '{% extends "frame/base.html" %}{% block main %}{{ t("search") }} {{ number(1234.5, 1) }}{% endblock %}'
    words = Translator("de")
    shown = environment().from_string(source).render(_build_language_context(words), who=None, live="", here="/")
    assert Translator("en").t("untranslated") in shown
    assert "Search 1.234,5" in shown


def test_every_text_that_templates_and_pages_name_is_there() -> None:
    sources = [*TEMPLATES, *ROOT.rglob("*.py")]
    named = {
        key for path in sources for key in re.findall(r"""\bt\(["']([a-z0-9_-]+)["'](?! ~)""", path.read_text("utf-8"))
    }
    assert named - frozenset().union(*keys("en").values()) == set()


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_template_keeps_to_what_the_browser_is_told_to_allow(path: Path) -> None:
    text = path.read_text("utf-8")
    for forbidden in (
        r"\|\s*safe",
        "Markup",
        r"\bstyle=",
        r"\bon[a-z]+=",
        "autoescape",
        "hx-on",
        "javascript:",
        "<style",
    ):
        assert not re.search(forbidden, text), forbidden
    assert not re.search(r"<script(?![^>]*\bsrc=)", text)
    environment().parse(text)


def test_no_python_of_the_console_makes_html_itself() -> None:
    for path in ROOT.rglob("*.py"):
        assert "Markup" not in path.read_text("utf-8"), path


def test_the_script_of_the_pages_never_reads_text_as_html() -> None:
    script = (ROOT / "static" / "console.js").read_text("utf-8")
    for forbidden in ("innerHTML", "outerHTML", "insertAdjacentHTML", "eval(", "document.write"):
        assert forbidden not in script


def test_the_package_contains_htmx() -> None:
    script = (
        resources.files("circumspect.server.console").joinpath("static", "vendor", "htmx.min.js").read_text("utf-8")
    )
    version = re.search(r'version:"(2\.[\d.]+)"', script)
    assert version, "reinstall the package: pip install -e . copies htmx into it"


def test_every_icon_that_a_page_names_is_one_that_the_build_draws() -> None:
    assert pages, "they register themselves"
    drawn = set((ROOT / "icons.txt").read_text("utf-8").split())
    texts = "".join(path.read_text("utf-8") for path in TEMPLATES)
    named = set(re.findall(r'(?:\bicon|\bempty)\("([a-z0-9-]+)"', texts)) | {one.icon for one in navigation._ENTRIES}
    assert named - {""} <= drawn
    assert {"inbox", "sun", "moon"} <= named


@pytest.mark.parametrize("language", ["en", "he", "ru"])
def test_no_two_pages_call_a_text_the_same(language: Language) -> None:
    """All files of a language make one bundle: the second of a name would be shown in place of the first."""
    seen: dict[str, str] = {}
    for page, names in keys(language).items():
        twice = {name: seen[name] for name in names if name in seen}
        assert not twice, (page, twice)
        seen |= dict.fromkeys(names, page)


@pytest.mark.parametrize("language", ["en", "he", "ru"])
def test_every_reason_code_has_a_name_of_a_few_words(language: Language) -> None:
    names = {code: Translator(language).reason_name(code) for code in ReasonCode}
    assert {code: name for code, name in names.items() if len(name) > 40 or name == code} == {}
    assert len(set(names.values())) == len(names)


def test_a_line_of_days_begins_where_reading_does_and_leaves_gaps() -> None:
    assert draw_sparkline([0, None, 2, 4], 4) == "M0.0 22.5M66.7 12.0L100.0 1.5"
    assert draw_sparkline([1, 2], 4) == "M0.0 17.2L100.0 12.0", "lower where another line is higher"
    assert draw_sparkline([1, 2], 2, rtl=True).startswith("M100.0")
    assert draw_sparkline([3], 3) == draw_sparkline([0, 0, None], 0) == ""


def test_numbers_and_plurals_are_written_as_the_language_does() -> None:
    assert Translator("en").number(12345) == "12,345"
    assert Translator("ru").number(12345).replace("\xa0", " ") == "12 345"
    assert [Translator("ru").t("last-days", days=days) for days in (1, 3, 7)] == ["Сегодня", "За 3 дня", "За 7 дней"]
    assert Translator("en").money(0.00123) == "$0.001230"
    assert Translator("he").direction == "rtl"


@pytest.mark.parametrize(
    ("cookie", "accept", "language"),
    [
        ("he", "ru", "he"),
        (None, "ru-RU,en;q=0.8", "ru"),
        (None, "fr, iw;q=0.9", "he"),
        ("xx", "", "en"),
        (None, "*", "en"),
    ],
)
def test_the_language_is_what_was_chosen_else_what_the_browser_asks_for(
    cookie: str | None, accept: str, language: str
) -> None:
    assert pick_language(cookie, accept) == language


def test_an_address_leaves_out_what_says_nothing_and_escapes_the_rest() -> None:
    assert link("/x", {"a": "", "b": None, "c": "ü&?"}, d=1) == "/x?c=%C3%BC%26%3F&d=1"


def test_every_sentence_of_the_ladder_and_of_guards_has_words_of_ours() -> None:
    failed, half = METRICS["failed"], (ArmData(900, 450.0, 450.0),)
    worse, better = (compare(half, (ArmData(900, many, many),), failed, ComparisonPlan()) for many in (880.0, 20.0))
    guards = (Guard(failed, bound=0.3), Guard(failed, worse_by=0.2), Guard(failed))
    stops = [Stop(guard, 0.1, 0.5, 80, 0.001) for guard in guards]
    week = timedelta(days=8)
    steps = [
        next_step(Rollout(10, stopped=True), None, None),
        next_step(Rollout(10), None, stops[0]),
        next_step(Rollout(10), worse, None),
        next_step(Rollout(100), better, None),
        next_step(Rollout(10, held=True), better, None),
        next_step(Rollout(10, split=ArmSplit({}, 0.0)), better, None),
        next_step(Rollout(10, units=3), better, None),
        next_step(Rollout(10, units=600, time=timedelta(hours=5)), better, None),
        next_step(Rollout(10, units=600, time=week, unseen=("failed", "wrong")), better, None),
        next_step(Rollout(50, units=2000, time=week), None, None),
        next_step(Rollout(50, units=2000, time=week), better, None),
    ]
    assert len({step.why for step in steps}) == len(_TABLE), "each line of the ladder speaks once"
    for why in (*(step.why for step in steps), *(stop.why for stop in stops)):
        for language in (one for one in LANGUAGES if "experiments.ftl" in keys(one)):
            said = translate_lab_sentence(why, Translator(language))
            assert not said.english, why
            assert language == "en" or not re.search("unit|guard|control|person", said.text), said
    assert translate_lab_sentence("Something new.", Translator("he")).english


def test_marks_that_turn_letters_around_are_spelt_out() -> None:
    assert visible("\u202ecancel\u202c it") == "\\u202ecancel\\u202c it"
    assert visible("\u2068isolated\u2069") == "\u2068isolated\u2069"
    assert pretty({"order": "\u202e54321\u2066"}) == '{\n  "order": "\\u202e54321\\u2066"\n}'


def test_numbers_of_charts_are_written_as_all_others_of_the_page() -> None:
    russian = Translator("ru")
    chart = draw_stacked_bars(["1"], [Series("a", [6000.0], "f1")], written=russian.figure)
    assert {one.text for one in chart.labels} >= {russian.number(6000), russian.number(2000)}
    assert chart.rows == (("1", russian.number(6000)),)
    assert russian.figure(1234.56) == russian.number(1235)
    assert russian.figure(0.5) == "0,5"
    assert russian.figure(float("nan")) == "–"
    assert Translator("en").figure(6000) == "6,000"
