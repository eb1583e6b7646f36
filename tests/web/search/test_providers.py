"""Tavily and SearXNG: what is sent, what is read, and what a person is told when it does not work."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from tests.patience import PATIENCE
from tests.tools.raw_server import Asked, answer, hang_up, silence
from tests.web.search.conftest import HERE, WEB, Moment, Sleeps
from tests.web.search.servers import KEY, SearXNGServer, TavilyServer, WebPage, searxng_row, tavily_answer

from circumspect.errors import ConfigError
from circumspect.web.search.result_rows import LONGEST_TEXT, LONGEST_TITLE
from circumspect.web.search.results import SearchError, WebSearch
from circumspect.web.search.searxng import SearXNG
from circumspect.web.search.tavily import Tavily

Server = TavilyServer | SearXNGServer


@pytest.fixture(params=["tavily", "searxng"])
async def server(request: pytest.FixtureRequest):
    kind = TavilyServer if request.param == "tavily" else SearXNGServer
    async with kind(WEB) as running:
        yield running


@pytest.fixture
def opened(sleeps: Sleeps, moment: Moment) -> Callable[..., WebSearch]:
    def search(server: Server, *, key: str = KEY, seconds: float = PATIENCE) -> WebSearch:
        if isinstance(server, TavilyServer):
            return Tavily(key, base_url=server.url, allow=HERE, seconds=seconds, sleep=sleeps, now=moment)
        return SearXNG(server.url, allow=HERE, seconds=seconds, sleep=sleeps, now=moment)

    return search


def rows(server: Server, *pages: WebPage, **fields: object) -> bytes:
    """A good answer with these pages, each row changed as told."""
    if isinstance(server, TavilyServer):
        body = tavily_answer("q", pages)
    else:
        body = {"query": "q", "results": [searxng_row(page, [1]) for page in pages], "unresponsive_engines": []}
    assert isinstance(body["results"], list)
    body["results"] = [row | fields for row in body["results"]]
    return answer(200, body)


# --- what is sent, what is read ---------------------------------------------------------------------------------------


async def test_the_best_pages_are_found_in_order(server, opened):
    found = await opened(server).find("returns delivery", limit=3)
    assert [one.title for one in found] == ["Returns", "Questions", "About returns"]
    assert found[0].text == "Returns are free within 30 days of delivery"
    assert found[0].url == "https://shop.example.co.uk/help/returns"
    assert all(0 < one.score < 1 for one in found)
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)


async def test_tavily_is_asked_as_its_api_wants_it(sleeps):
    async with TavilyServer(WEB) as server:
        await Tavily(KEY, base_url=f"{server.url}/", allow=HERE).find("returns", domain="example.co.uk", limit=50)
    (asked,) = server.asked
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert asked.json == {
        "query": "returns",
        "topic": "general",
        "search_depth": "basic",
        "max_results": 20,
        "include_answer": False,
        "include_raw_content": False,
        "include_images": False,
        "include_domains": ["example.co.uk"],
    }


async def test_searxng_is_asked_for_one_site_in_the_query(opened):
    async with SearXNGServer(WEB) as server:
        await opened(server).find("returns site:other.com & delivery", domain="example.co.uk")
    assert server.queries == ["site:example.co.uk returns & delivery"]


async def test_no_word_of_a_query_gives_orders_to_searxng(opened):
    async with SearXNGServer(WEB) as server:
        found = await opened(server).find("!!g returns !wp :fr <850 delivery ! <3")
    assert server.queries == ["g returns wp fr 850 delivery 3"]
    assert found


async def test_pages_of_another_domain_are_dropped_although_the_provider_sends_them(opened):
    async with TavilyServer(WEB, strict=False) as tavily, SearXNGServer(WEB, engines=(True, False)) as searxng:
        for server in (tavily, searxng):
            found = await opened(server).find("returns", domain="example.co.uk")
            assert [one.url.split("/")[2] for one in found] == [
                "shop.example.co.uk",
                "www.example.co.uk",
                "example.co.uk",
            ]


async def test_a_page_that_more_engines_name_scores_higher(opened):
    async with SearXNGServer(WEB[:1], engines=(True,)) as one, SearXNGServer(WEB[:1], engines=(True, True)) as two:
        (single,), (double,) = await opened(one).find("returns"), await opened(two).find("returns")
    assert (single.score, double.score) == (0.5, 0.8)


async def test_nothing_found_is_no_error(server, opened):
    assert list(await opened(server).find("zebra")) == []


@pytest.mark.parametrize("query", ["", "  \n", "\u200b"])
async def test_an_empty_query_is_not_sent(server, opened, query):
    assert list(await opened(server).find(query)) == []
    assert server.asked == []


async def test_a_query_that_is_too_long_is_cut_before_it_is_refused(server, opened):
    assert await opened(server).find("returns " * 200, domain="example.co.uk")


async def test_every_text_is_bounded_and_clean(server, opened):
    page = WebPage("https://example.com/", "T\x00i\u202etle\n" * 5_000, "a\x1b[31m\u200bb\U000e0041 \r\n" * 50_000)
    server.plays(rows(server, page))
    (found,) = await opened(server).find("q")
    assert len(found.title) <= LONGEST_TITLE
    assert len(found.text) <= LONGEST_TEXT
    assert found.title.startswith("Title Title ")
    assert found.text.startswith("a[31mb a[31mb ")
    assert "\n" not in found.title + found.text


@pytest.mark.parametrize(
    "url",
    ["javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "ftp://example.com/", "", "example.com", None, 7,
     "https://", "https://exa mple.com/", "https://example.com\\@evil.net/", "https://example.com/\u202egnp.exe",
     "https://example.com/" + "x" * 3_000],
)  # fmt: skip
async def test_a_row_that_leads_to_no_web_page_is_left_out(server, opened, url):
    server.plays(rows(server, WEB[0], url=url))
    assert list(await opened(server).find("q")) == []


@pytest.mark.parametrize("score", [None, "high", True, -3, float(10**300), 10**400, float("nan"), {}])
async def test_a_strange_score_is_still_between_nothing_and_one(server, opened, score):
    server.plays(rows(server, WEB[0], score=score))
    (found,) = await opened(server).find("q")
    assert 0 <= found.score <= 1


async def test_a_row_without_title_or_text_is_named_by_its_address(server, opened):
    server.plays(rows(server, WEB[0], title=None, content=["not", "text"]))
    (found,) = await opened(server).find("q")
    assert (found.title, found.text) == (WEB[0].url, "")


async def test_a_text_cut_in_the_middle_of_a_letter_is_read_all_the_same(server, opened):
    server.plays(rows(server, WEB[0], content="half a smile \ud83d"))
    (found,) = await opened(server).find("q")
    assert found.text == "half a smile"


async def test_rows_that_are_none_do_not_hide_the_others(server, opened):
    good = json.loads(rows(server, WEB[0]).partition(b"\r\n\r\n")[2])
    good["results"] = [None, "row", 3, [], {}, *good["results"]]
    server.plays(answer(200, good))
    (found,) = await opened(server).find("q")
    assert found.url == WEB[0].url


async def test_the_same_page_comes_once(server, opened):
    pages = [
        WebPage(url, "Returns", "returns")
        for url in ("https://example.com/a", "http://EXAMPLE.com/a/", "https://example.com:443/a#x")
    ]
    server.plays(rows(server, *pages, WebPage("https://example.com/a?x=1", "Other", "returns")))
    assert [one.url for one in await opened(server).find("q")] == ["https://example.com/a", "https://example.com/a?x=1"]


# --- what does not work -----------------------------------------------------------------------------------------------


async def refusal(search: WebSearch) -> SearchError:
    with pytest.raises(SearchError) as caught:
        await search.find("a private question", domain="example.com")
    said = f"{caught.value} {caught.value!r} {search!r}"
    assert "private question" not in said
    assert KEY not in said
    assert caught.value.fix
    return caught.value


async def test_a_wrong_key_says_where_to_set_the_right_one(opened):
    async with TavilyServer(WEB) as server:
        error = await refusal(opened(server, key="tvly-wrong"))
    assert str(error).startswith("Tavily: the API key is missing or not valid. Set TAVILY_API_KEY")
    assert "tvly-wrong" not in str(error)
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("status", "words"), [(400, "shorter"), (403, "may not search"), (432, "plan"), (433, "pay-as-you-go")]
)
async def test_tavilys_refusals_are_told_apart(opened, status, words):
    async with TavilyServer() as server:
        server.plays(answer(status, {"detail": {"error": f"your key {KEY} and 'a private question'"}}))
        assert words in str(await refusal(opened(server)))


async def test_a_searxng_without_json_says_which_line_to_add(opened):
    async with SearXNGServer(WEB, formats=("html",)) as server:
        assert "Add 'json' to search.formats in its settings.yml" in str(await refusal(opened(server)))


async def test_the_limiter_of_searxng_is_named_and_not_asked_twice(opened, sleeps):
    async with SearXNGServer(WEB, limiter=True) as server:
        assert "server.limiter" in str(await refusal(opened(server)))
    assert (len(server.asked), sleeps.slept) == (1, [])


async def test_nothing_found_because_no_engine_answered_is_an_error(opened):
    silent = [("google", "Suspended: too many requests"), ("brave\x1b[0m", "timeout" + "!" * 900)]
    async with SearXNGServer(silent=silent) as server:
        said = str(await refusal(opened(server)))
    assert "google (Suspended: too many requests), brave[0m (timeout" in said
    assert len(said) < 400


async def test_results_count_although_some_engines_did_not_answer(opened):
    async with SearXNGServer(WEB, silent=[("google", "timeout")]) as server:
        assert await opened(server).find("returns")


async def test_a_short_retry_after_is_waited_for(server, opened, sleeps):
    server.plays(answer(429, {"error": "blocked due to excessive requests"}, retry_after="2"))
    assert await opened(server).find("returns")
    assert sleeps.slept == [2.0]


async def test_a_long_retry_after_is_respected_by_asking_nobody(opened, sleeps, moment):
    async with TavilyServer(WEB) as server:
        search = opened(server)
        server.plays(answer(429, {"error": "blocked due to excessive requests"}, retry_after="60"))
        assert "Try again in 60 seconds" in str(await refusal(search))
        moment.at += 20
        assert "Try again in 40 seconds" in str(await refusal(search))
        assert (len(server.asked), sleeps.slept) == (1, [])
        moment.at += 41
        assert await search.find("returns")


async def test_no_server_silences_us_for_long(server, opened, moment):
    search = opened(server)
    server.plays(answer(429, "no", retry_after="9" * 400))
    await refusal(search)
    moment.at += 601
    assert await search.find("returns")


async def test_a_retry_after_may_be_a_date(opened, sleeps):
    async with TavilyServer(WEB) as server:
        past = format_datetime(datetime.now(UTC) - timedelta(minutes=1), usegmt=True)
        server.plays(answer(503, "busy", retry_after=past))
        assert await opened(server).find("returns")
    assert sleeps.slept == [0.0]


@pytest.mark.parametrize("said", ["soon", "-5", "1e9", "²", ""])
async def test_a_retry_after_that_says_nothing_is_not_waited_for(server, opened, sleeps, said):
    server.plays(answer(429, "no", retry_after=said))
    await refusal(opened(server))
    assert sleeps.slept == []


async def test_being_turned_away_twice_is_the_end(server, opened, sleeps):
    server.plays(answer(429, "no", retry_after="1"), answer(429, "no", retry_after="1"))
    await refusal(opened(server))
    assert (len(server.asked), sleeps.slept) == (2, [1.0])


@pytest.mark.parametrize("act", [answer(500, {"detail": {"error": "Internal"}}), answer(502, "<html>"), hang_up])
async def test_what_may_pass_is_tried_once_more(server, opened, sleeps, act):
    server.plays(act)
    assert await opened(server).find("returns")
    assert (len(server.asked), len(sleeps.slept)) == (2, 1)


async def test_a_server_that_keeps_failing_is_given_up(server, opened):
    server.plays(answer(500, "no"), answer(503, "no"))
    assert "failed (status 503)" in str(await refusal(opened(server)))
    assert len(server.asked) == 2


async def test_a_connection_that_keeps_breaking_is_given_up(server, opened):
    server.plays(hang_up, hang_up)
    assert "could not be reached" in str(await refusal(opened(server)))


async def test_a_server_that_is_not_there_says_so(sleeps):
    async with SearXNGServer() as gone:
        pass
    assert "Check its address" in str(await refusal(SearXNG(gone.url, allow=HERE, sleep=sleeps)))


async def test_silence_ends(server, opened):
    server.plays(silence)
    assert "did not answer within 0.2 seconds" in str(await refusal(opened(server, seconds=0.2)))


async def test_an_answer_that_drips_for_ever_ends(server, opened):
    async def drip(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n")
        while True:
            writer.write(b" ")
            await writer.drain()
            await asyncio.sleep(0.02)

    server.plays(drip)
    assert "did not answer within 0.3 seconds" in str(await refusal(opened(server, seconds=0.3)))


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("<!doctype html><title>Sign in</title>", "a web page instead of JSON"),
        ("{'query': ", "it is no JSON"),
        ("", "it is no JSON"),
        ("\xff\xfe", "it is no JSON"),
        ("[" * 100_000, "it is no JSON"),
        ("[]", "no JSON object"),
        ("null", "no JSON object"),
        ("{}", "no list of results"),
        ('{"results": null}', "no list of results"),
        ('{"results": {"0": {}}}', "no list of results"),
    ],
)
async def test_garbage_is_called_so(server, opened, body, why):
    server.plays(answer(200, body, content_type="application/json"))
    assert why in str(await refusal(opened(server)))


async def test_a_huge_answer_is_not_read_to_its_end(server, opened):
    sent = 0

    async def flood(asked: Asked, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        writer.write(b'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n{"results": [')
        while sent < 100_000_000:
            writer.write(b" " * 65_536)
            sent += 65_536
            await writer.drain()

    server.plays(flood)
    assert "larger than 2,000,000 bytes" in str(await refusal(opened(server)))
    assert sent < 50_000_000


async def test_a_compressed_answer_is_refused(server, opened):
    server.plays(answer(200, {"results": []}, content_encoding="gzip"))
    assert "compressed" in str(await refusal(opened(server)))


@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_a_redirect_is_not_followed_and_carries_no_key_away(server, opened, status):
    async with TavilyServer(WEB) as elsewhere:
        server.plays(answer(status, "", location=f"{elsewhere.url}/search"))
        assert "redirects are not followed" in str(await refusal(opened(server)))
        assert elsewhere.asked == []


async def test_a_server_inside_the_house_is_asked_only_where_that_is_allowed():
    async with SearXNGServer(WEB) as server:
        port = server.url.rpartition(":")[2]
        with pytest.raises(ConfigError, match="not on the public internet"):
            SearXNG(server.url)
        error = await refusal(SearXNG(f"http://localhost:{port}"))
        assert "add 'localhost' to the allowed hosts" in str(error)
        assert server.asked == []
        assert await SearXNG(f"http://localhost:{port}", allow=("localhost",)).find("returns")


async def test_neither_the_key_nor_the_query_is_logged(opened, caplog):
    caplog.set_level(logging.DEBUG)
    async with TavilyServer(WEB) as tavily, SearXNGServer(WEB) as searxng:
        tavily.plays(answer(500, "no"))
        for server in (tavily, searxng):
            await opened(server).find("returns of a private person", domain="example.co.uk")
    assert KEY not in caplog.text
    assert "private" not in caplog.text


@pytest.mark.parametrize("key", ["", "  ", "tvly-\n-x", "tvly-\u00e9", "two words"])
def test_a_key_that_cannot_be_one_is_refused_without_being_shown(key):
    with pytest.raises(ConfigError, match="API key for Tavily") as caught:
        Tavily(key)
    assert not key.strip() or key not in str(caught.value)


def test_the_key_does_not_go_over_an_open_line():
    with pytest.raises(ConfigError, match="unencrypted"):
        Tavily(KEY, base_url="http://search.example.com")


@pytest.mark.parametrize("url", ["https://me:pw@search.example.com", "https://search.example.com/?q=", "https://x/#"])
def test_an_address_with_more_than_a_host_and_a_path_is_refused(url):
    with pytest.raises(ConfigError, match="more than a host and a path") as caught:
        SearXNG(url)
    assert "pw" not in str(caught.value).replace("passwords", "")


async def test_many_ask_at_once(server, opened):
    search = opened(server)
    found = await asyncio.gather(*(search.find(f"returns {number}") for number in range(20)))
    assert all(len(one) == 5 for one in found)


def test_a_search_outlives_its_event_loop():
    async def ask(search: WebSearch, server: TavilyServer) -> int:
        async with server:
            return len(await search.find("returns"))

    async def port() -> int:
        async with TavilyServer() as free:
            return free.port

    at = asyncio.run(port())
    search = Tavily(KEY, base_url=f"http://127.0.0.1:{at}", allow=HERE)
    for _ in range(2):
        server = TavilyServer(WEB)
        server._at = ("127.0.0.1", at)
        assert asyncio.run(ask(search, server)) == 5
