"""The tenant's own documents as a search, and which search a name of the configuration opens."""

from __future__ import annotations

import pytest
from tests.web.search.conftest import HERE, WEB
from tests.web.search.servers import KEY, SearXNGServer, TavilyServer

from circumspect.errors import ConfigError, StoreError
from circumspect.knowledge.business_texts import BusinessTexts
from circumspect.knowledge.read_document import read_document
from circumspect.knowledge.search import Library
from circumspect.stores import SqlStore
from circumspect.values import Business, Faq
from circumspect.web.search.document_search import Documents
from circumspect.web.search.opening import open_search
from circumspect.web.search.results import SearchError, WebSearch
from circumspect.web.search.scoped_search import Scoped
from circumspect.web.search.search_cache import SearchCache

RETURNS = b"# Returns\n\nReturns are free within 30 days.\n\n# Hours\n\nWe open at nine."


@pytest.fixture
async def library():
    store = await SqlStore.open(":memory:")
    library = Library(store)
    await library.put("shop", read_document(RETURNS, "house rules.md"))
    yield library
    await store.close()


async def test_a_passage_is_a_result_with_an_address_of_its_own(library):
    (found,) = await Documents(library, "shop").find("free returns", limit=1)
    assert (found.title, found.url) == ("house rules › Returns", "document:house%20rules.md#1")
    assert "30 days" in found.text
    assert "\n" not in found.text
    assert 0 < found.score <= 1


async def test_documents_answer_on_any_page_and_need_no_widening(library):
    for page in ("https://example.com/", "http://localhost/", ""):
        for allowed in (True, False):
            hits = await Scoped(Documents(library, "shop"), SearchCache()).find("free returns", page, allowed)
            assert (hits.domain, hits.widened, hits.cached) == (None, False, False)
            assert hits.results


async def test_documents_are_not_kept_because_they_change(library):
    cache = SearchCache()
    scoped = Scoped(Documents(library, "shop"), cache)
    scoped.remember(await scoped.find("free returns"), 1.0)
    assert len(cache) == 0
    await library.put("shop", read_document(RETURNS.replace(b"30", b"14"), "house rules.md"))
    assert "14 days" in (await scoped.find("free returns")).results[0].text


async def test_a_tenant_finds_its_own_documents_only(library):
    assert list(await Documents(library, "other").find("free returns")) == []
    assert Documents(library, "other").name != Documents(library, "shop").name


async def test_what_a_business_says_of_itself_can_be_searched_the_same_way():
    texts = BusinessTexts(Business(name="Shop", faqs=(Faq("Are returns free?", "Yes, for 30 days."),)))
    (found,) = await Documents(texts, "shop").find("free returns")
    assert (found.title, found.url) == ("Are returns free?", "document:faqs#1")


async def test_a_store_that_is_down_is_a_search_that_failed():
    class Down:
        async def search(self, tenant: str, query: str, limit: int = 5):
            raise StoreError("The database does not answer.", fix="Start it.")

    with pytest.raises(SearchError, match="Start it"):
        await Documents(Down(), "shop").find("returns")


# --- opening ----------------------------------------------------------------------------------------------------------


async def test_each_name_opens_its_search(library):
    async with TavilyServer(WEB) as tavily, SearXNGServer(WEB) as searxng:
        for name, remote in (
            ("documents", False),
            ("none", False),
            (f"tavily:{tavily.url}", True),
            (f"searxng:{searxng.url}", True),
            (f" searxng:{searxng.url}/ ", True),
        ):
            search: WebSearch = open_search(name, key=KEY, library=library, tenant="shop", allow=HERE)
            assert search.remote is remote
            assert bool(await search.find("returns")) is (name != "none")
            assert KEY not in repr(search)


def test_tavily_itself_needs_only_a_key():
    assert open_search("tavily", key=KEY).name == "tavily"


async def test_tavilys_key_is_not_shown_to_searxng():
    async with SearXNGServer(WEB) as server:
        await open_search(f"searxng:{server.url}", key=KEY, allow=HERE).find("returns")
    assert KEY not in str(server.asked)


@pytest.mark.parametrize(
    ("name", "key", "words"),
    [
        ("tavily", None, "Set TAVILY_API_KEY"),
        ("tavily", "  ", "Set TAVILY_API_KEY"),
        ("searxng", None, "address of SearXNG is missing"),
        ("searxng:", None, "address of SearXNG is missing"),
        ("searxng:localhost:8080", None, "http"),
        ("searxng:ftp://search.example.com", None, "http"),
        ("searxng:http://10.0.0.5", None, "not on the public internet"),
        ("documents", None, "no index of documents"),
        ("documents:shop", None, "There is no search of that name"),
        ("google", None, "Use documents, tavily, searxng:URL"),
        ("", None, "Use documents, tavily, searxng:URL"),
    ],
)
def test_a_name_that_cannot_be_opened_says_what_to_write(name, key, words):
    with pytest.raises(ConfigError, match=words) as caught:
        open_search(name, key=key)
    assert caught.value.fix


def test_a_key_in_the_place_of_a_name_is_not_shown():
    with pytest.raises(ConfigError) as caught:
        open_search(KEY)
    assert KEY not in str(caught.value)
