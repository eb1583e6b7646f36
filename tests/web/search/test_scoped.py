"""A search is first about the page's own site; it widens when that has too little, and names nothing of the house."""

from __future__ import annotations

import pytest
from tests.tools.raw_server import answer
from tests.web.search.conftest import HERE, WEB
from tests.web.search.servers import KEY, SearXNGServer, TavilyServer, WebPage, tavily_answer

from circumspect.web.search.results import SearchError
from circumspect.web.search.scoped_search import Scoped
from circumspect.web.search.search_cache import SearchCache
from circumspect.web.search.searxng import SearXNG
from circumspect.web.search.tavily import Tavily

PAGE = "https://www.example.co.uk:8443/cart?session=s3cret"


@pytest.fixture
async def server():
    async with TavilyServer(WEB) as running:
        yield running


@pytest.fixture
def scoped(server, sleeps, moment) -> Scoped:
    return Scoped(Tavily(KEY, base_url=server.url, allow=HERE, sleep=sleeps, now=moment), SearchCache(now=moment))


def hosts(hits) -> list[str]:
    return [one.url.split("/")[2] for one in hits.results]


async def test_three_results_of_the_pages_domain_are_enough(scoped, server):
    hits = await scoped.find("returns", PAGE)
    assert (hits.domain, hits.widened, hits.cached, hits.query) == ("example.co.uk", False, False, "returns")
    assert sorted(hosts(hits)) == ["example.co.uk", "shop.example.co.uk", "www.example.co.uk"]
    assert [body.get("include_domains") for body in server.bodies] == [["example.co.uk"]]


async def test_fewer_than_three_widen_and_the_domains_own_come_first(scoped, server):
    server.pages = [WEB[4], WEB[3], *WEB[:3]]
    hits = await scoped.find("delivery", PAGE)
    assert hits.widened
    assert hits.domain == "example.co.uk"
    assert hosts(hits) == ["shop.example.co.uk", "example.co.uk", "news.other.com", "blog.other.com"]
    assert [body.get("include_domains") for body in server.bodies] == [["example.co.uk"], None]


async def test_it_does_not_widen_where_that_is_not_allowed(scoped, server):
    hits = await scoped.find("delivery", PAGE, allow_widening=False)
    assert not hits.widened
    assert hosts(hits) == ["shop.example.co.uk", "example.co.uk"]
    assert len(server.asked) == 1


async def test_nothing_on_the_domain_is_an_answer_too(scoped):
    hits = await scoped.find("parcels", PAGE, allow_widening=False)
    assert (hits.results, hits.domain, hits.widened) == ((), "example.co.uk", False)


async def test_a_provider_that_ignores_the_limit_does_not_pass_for_the_domain(sleeps):
    async with SearXNGServer(WEB[1:], engines=(False,)) as server:
        hits = await Scoped(SearXNG(server.url, allow=HERE, sleep=sleeps)).find("returns", PAGE)
    assert hits.widened
    assert hosts(hits)[:2] == ["www.example.co.uk", "example.co.uk"]
    assert "notexample.co.uk" in hosts(hits)[2:]


async def test_no_more_results_than_the_limit(server, sleeps):
    pages = [WebPage(f"https://example.co.uk/{number}", "Returns", "returns") for number in range(2)]
    server.pages = [*pages, *(WebPage(f"https://other.com/{n}", "Returns", "returns") for n in range(9))]
    hits = await Scoped(Tavily(KEY, base_url=server.url, allow=HERE, sleep=sleeps), limit=4).find("returns", PAGE)
    assert hosts(hits) == ["example.co.uk", "example.co.uk", "other.com", "other.com"]


@pytest.mark.parametrize("limit", [1, 2])
async def test_a_limit_below_three_does_not_always_widen(server, sleeps, limit):
    hits = await Scoped(Tavily(KEY, base_url=server.url, allow=HERE, sleep=sleeps), limit=limit).find("returns", PAGE)
    assert (len(hits.results), hits.widened) == (limit, False)


@pytest.mark.parametrize(
    "page",
    ["http://localhost:3000/", "http://crm.internal/customers", "http://10.0.0.5/", "http://[fd00::1]/", "http://wiki/",
     "http://printer.local/", "https://8.8.8.8/", "about:blank", "", "no url at all"],
)  # fmt: skip
async def test_a_page_without_a_public_domain_is_searched_without_a_limit(scoped, server, page):
    hits = await scoped.find("returns delivery", page)
    assert (hits.domain, hits.widened, len(hits.results)) == (None, False, 5)
    assert [body.get("include_domains") for body in server.bodies] == [None]


async def test_the_name_of_an_internal_host_leaves_by_no_way(scoped, server):
    page = "http://crm.acme.internal:8443/customers/7?token=s3cret"
    hits = await scoped.find(f"returns on crm.acme.internal {page} site:crm.acme.internal", page)
    assert hits.query == "returns on"
    (asked,) = server.asked
    for secret in (b"acme", b"crm", b"8443", b"s3cret"):
        assert secret not in asked.body


async def test_of_a_public_page_only_the_domain_leaves(scoped, server):
    await scoped.find("delivery", "https://me:pw@intranet.example.co.uk:8443/hr/salaries?token=s3cret#top")
    for asked in server.asked:
        for secret in (b"intranet", b"8443", b"salaries", b"s3cret", b"pw"):
            assert secret not in asked.body


async def test_an_internal_page_that_may_not_widen_is_not_searched_at_all(scoped, server):
    hits = await scoped.find("returns", "http://crm.internal/", allow_widening=False)
    assert (hits.results, hits.domain, hits.widened) == ((), None, False)
    assert server.asked == []


async def test_a_query_of_which_nothing_may_be_told_is_not_sent(scoped, server):
    hits = await scoped.find("http://crm.internal/customers/7", "http://crm.internal/")
    assert (hits.results, hits.query) == ((), "")
    assert server.asked == []


async def test_a_failing_wider_search_leaves_what_the_domain_has(scoped, server, caplog):
    server.plays(answer(200, tavily_answer("delivery", WEB[:1])), answer(432, {"detail": {"error": "limit"}}))
    hits = await scoped.find("delivery", PAGE)
    assert (hosts(hits), hits.widened) == (["shop.example.co.uk"], False)
    assert "the wider search failed (search)" in caplog.text
    assert "delivery" not in caplog.text


async def test_a_failing_wider_search_with_nothing_to_show_is_a_failure(scoped, server):
    server.plays(answer(200, tavily_answer("delivery", [])), answer(432, {"detail": {"error": "limit"}}))
    with pytest.raises(SearchError):
        await scoped.find("delivery", PAGE)


async def test_a_failing_search_is_not_widened(scoped, server):
    server.plays(answer(401, {"detail": {"error": "Unauthorized"}}))
    with pytest.raises(SearchError):
        await scoped.find("delivery", PAGE)
    assert len(server.asked) == 1


# --- what is kept -----------------------------------------------------------------------------------------------------


async def test_results_judged_good_are_not_asked_for_again(scoped, server):
    hits = await scoped.find("delivery", PAGE)
    scoped.remember(hits, 0.8)
    again = await scoped.find("  DELIVERY ", "https://shop.example.co.uk/other")
    assert (again.cached, again.widened, again.results) == (True, True, hits.results)
    assert len(server.asked) == 2


async def test_results_are_not_kept_before_they_are_judged(scoped, server):
    await scoped.find("returns", PAGE)
    assert not (await scoped.find("returns", PAGE)).cached
    assert len(server.asked) == 2


async def test_results_judged_unsure_are_asked_for_again(scoped, server):
    scoped.remember(await scoped.find("returns", PAGE), 0.59)
    assert not (await scoped.find("returns", PAGE)).cached


async def test_kept_results_of_another_domain_do_not_answer(scoped):
    scoped.remember(await scoped.find("returns", PAGE), 0.9)
    assert not (await scoped.find("returns", "https://other.com/")).cached
    assert not (await scoped.find("returns", "http://localhost/")).cached


async def test_kept_wide_results_do_not_answer_who_may_not_widen(scoped):
    scoped.remember(await scoped.find("delivery", PAGE), 0.9)
    hits = await scoped.find("delivery", PAGE, allow_widening=False)
    assert (hits.cached, hits.widened, len(hits.results)) == (False, False, 2)


async def test_kept_results_end(scoped, server, moment):
    scoped.remember(await scoped.find("returns", PAGE), 0.9)
    moment.at += 3_601
    assert not (await scoped.find("returns", PAGE)).cached


async def test_without_a_cache_remembering_does_nothing(server, sleeps):
    scoped = Scoped(Tavily(KEY, base_url=server.url, allow=HERE, sleep=sleeps))
    scoped.remember(await scoped.find("returns", PAGE), 0.9)
    assert not (await scoped.find("returns", PAGE)).cached
