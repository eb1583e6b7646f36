"""Results that were judged good are kept for a while, and no others."""

from __future__ import annotations

import pytest

from circumspect.web.search.results import Hits, WebResult
from circumspect.web.search.search_cache import SearchCache, key_of

KEY = key_of("tavily", "returns", "example.com")


def hits(*urls: str, cached: bool = False) -> Hits:
    found = tuple(WebResult("Returns", url, "text", 0.9) for url in urls or ("https://example.com/",))
    return Hits(found, "example.com", False, cached, "returns")


def test_what_was_kept_comes_back_marked_as_cached(moment):
    cache = SearchCache(now=moment)
    cache.keep(KEY, hits(), 0.8)
    kept = cache.get(KEY)
    assert kept is not None
    assert kept.cached
    assert kept.results == hits().results


@pytest.mark.parametrize("confidence", [0.0, 0.59, float("nan"), -1.0])
def test_what_was_judged_unsure_is_not_kept(moment, confidence):
    cache = SearchCache(now=moment)
    cache.keep(KEY, hits(), confidence)
    assert cache.get(KEY) is None


def test_six_tenths_are_enough(moment):
    cache = SearchCache(now=moment)
    cache.keep(KEY, hits(), 0.6)
    assert cache.get(KEY)


def test_no_results_are_not_kept_however_sure(moment):
    cache = SearchCache(now=moment)
    cache.keep(KEY, Hits((), "example.com", False, False, "returns"), 1.0)
    assert cache.get(KEY) is None


def test_it_forgets_after_its_time(moment):
    cache = SearchCache(seconds=60, now=moment)
    cache.keep(KEY, hits(), 0.9)
    moment.at += 59
    assert cache.get(KEY)
    moment.at += 2
    assert cache.get(KEY) is None
    assert len(cache) == 0


def test_being_used_makes_nothing_younger(moment):
    cache = SearchCache(seconds=60, now=moment)
    cache.keep(KEY, hits(), 0.9)
    for _ in range(3):
        moment.at += 19
        kept = cache.get(KEY)
        assert kept is not None
        cache.keep(KEY, kept, 0.9)
    moment.at += 4
    assert cache.get(KEY) is None


def test_what_turns_out_to_be_of_no_use_is_forgotten(moment):
    cache = SearchCache(now=moment)
    cache.keep(KEY, hits(), 0.9)
    kept = cache.get(KEY)
    assert kept is not None
    cache.keep(KEY, kept, 0.3)
    assert cache.get(KEY) is None


def test_it_never_grows_beyond_its_bound(moment):
    cache = SearchCache(most=3, now=moment)
    for number in range(10):
        cache.keep(key_of("tavily", f"query {number}", None), hits(), 0.9)
    assert len(cache) == 3
    assert cache.get(key_of("tavily", "query 9", None))
    assert cache.get(key_of("tavily", "query 0", None)) is None


def test_a_query_is_the_same_however_it_is_spaced_and_capitalised():
    assert key_of("tavily", " Return\n POLICY ", None) == key_of("tavily", "return policy", None)


def test_neither_another_domain_nor_another_provider_answers():
    keys = {
        key_of("tavily", "q", None),
        key_of("tavily", "q", "a.com"),
        key_of("tavily", "q", "b.com"),
        key_of("searxng:https://s", "q", None),
    }
    assert len(keys) == 4
