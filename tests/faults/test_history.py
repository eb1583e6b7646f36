"""What users are told when something fails, held against what really happened; and the proof that the checker finds it.

Each scenario is played twice: as things are, and with one mended behaviour broken again. Leases and timeouts are the
defaults, or all of them shorter by the same factor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace

import pytest
from tests.faults import undone
from tests.faults.back_end import IN_PROGRESS, TROUBLES, BackEnd
from tests.faults.full_disk import fill_disk
from tests.faults.history import Said
from tests.faults.killing import CONVERSATION_LEASE, LEASES, asked_and_said_yes
from tests.faults.model import Model
from tests.faults.shops import SHOPS, TIMEOUT, Shop, make_shop
from tests.faults.site import Site
from tests.faults.torture import SPEED, make_options
from tests.patience import wait_until
from tests.server.house import Running

Opening = Callable[..., Site]
only_sqlite = pytest.mark.parametrize("database", ["sqlite"], indirect=True)
broken_again = pytest.mark.parametrize("way", ["", "broken"], ids=["as it is", "broken again"])


def undo(way: str, name: str) -> dict[str, str]:
    assert name in undone.WAYS
    return {undone.UNDONE: name} if way else {}


# --- the back end ---------------------------------------------------------------------------------------------------


def talk(site: Site, shop: Shop, place: int, order: str) -> None:
    """Ask, agree, and where it is not said to be done ask once more, as people do."""
    door = ("messages", "events", "completions")[place % 3]
    name, earlier = f"{shop.name}-{order}", ()
    site.converse(shop.name, name)
    for round_ in range(2):
        for text in (f"cancel order {order}", "yes"):
            said = Said(
                shop.name, name, text, f"{name}-{round_}-{text[:3]}", order, text == "yes", door=door, earlier=earlier
            )
            if shop.agreement == "nobody":
                said = replace(said, agrees=True)
            result = site.insist(said)
            if door == "completions":
                earlier = (*earlier, ("user", text), ("assistant", result["reply"]))
            if result["outcome"] == "escalated" and shop.agreement == "colleague" and text != "yes":
                decided = replace(said, text="approve", agrees=True, door="approvals", keyless=True, earlier=())
                result = site.insist(decided)
            if result.get("outcome") != "asked":
                break
        if result.get("outcome") == "acted":
            return


def play_troubles(site: Site, back_end: BackEnd, troubles: tuple[str, ...], shops: tuple[Shop, ...] = SHOPS) -> None:
    site.start()
    every = [(shop, trouble) for shop in shops for trouble in troubles]
    with ThreadPoolExecutor(16) as people:
        waiting = []
        for place, (shop, trouble) in enumerate(every):
            back_end.troubles[order := str(50_000 + place)] = trouble
            waiting.append(people.submit(talk, site, shop, place, order))
        for one in waiting:
            one.result()


def test_whatever_the_back_end_does_nobody_is_told_what_is_not_so(open_site: Opening, back_end: BackEnd) -> None:
    site = open_site(**make_options(back_end, speed=2 * SPEED))
    play_troubles(site, back_end, ("", *TROUBLES))
    report = site.check()
    print(report.claims)
    assert report.faults == {}
    assert {"done", "not done", "unknown", "passed on"} <= report.claims.keys()


@only_sqlite
def test_a_refusal_of_the_second_try_that_counts_as_failed_is_found(open_site: Opening, back_end: BackEnd) -> None:
    site = open_site(**make_options(back_end), **undo("broken", "the refusal of a second try counts as failed"))
    play_troubles(site, back_end, (IN_PROGRESS,), tuple(shop for shop in SHOPS if shop.recovery == "keyed"))
    faults = site.check().faults
    assert any("it had happened" in one for one in faults["untrue"])
    assert "twice" in faults, "the user was told that it failed, and asked again"


# --- the database ---------------------------------------------------------------------------------------------------


@contextmanager
def while_the_model_thinks(site: Site, model: Model, said: Said) -> Iterator[None]:
    """The message is with the model; when the block ends, the model answers and so does the worker."""
    before, model.trouble = model.asked, "hangs"
    answer = site.begun(said, site.workers[-1])
    wait_until(lambda: model.asked > before)
    yield
    model.trouble = ""
    answer.result()


@only_sqlite
@broken_again
def test_a_call_for_a_colleague_that_cannot_be_stored_is_not_said_to_be_passed_on(
    open_site: Opening, back_end: BackEnd, way: str
) -> None:
    model, shop = Model(), next(one for one in SHOPS if one.agreement == "colleague")
    with Running(model, drain=1) as running:
        site = open_site(
            model=f"openai:m@{running.url}/v1",
            tenants={shop.name: make_shop(shop, back_end.url, TIMEOUT)},
            effects=lambda: list(back_end.effects),
            **undo(way, "an escalation is said and not stored"),
        )
        site.start()
        site.converse(shop.name, "c1")
        wish = Said(shop.name, "c1", "cancel order 12345", "k1", "12345")
        with ExitStack() as stack, while_the_model_thinks(site, model, wish):
            stack.enter_context(fill_disk(site))
        site.move_clock(CONVERSATION_LEASE)
        if way:
            faults = site.check().faults
            assert any("stored nowhere" in one for one in faults["untrue"]), faults
            return
        assert site.insist(wish)["outcome"] == "escalated"
        site.insist(Said(shop.name, "c1", "approve", "k2", "12345", True, "approvals", keyless=True))
        assert site.check().faults == {}
        assert len(back_end.effects) == 1


@only_sqlite
@broken_again
def test_nobody_hears_that_nothing_can_be_changed_after_it_was(open_site: Opening, way: str) -> None:
    site = open_site(**undo(way, "nothing can be changed, after it was"))
    said = asked_and_said_yes("keyed", "c1")
    site.start()
    site.converse("keyed", "c1")
    site.insist(said[0])
    site.hold("after")
    answer = site.begun(said[1], site.workers[-1])
    site.wait_inside()
    with fill_disk(site):
        site.let_go()
        answer.result()
    site.move_clock(LEASES)
    site.insist(said[1])
    faults = site.check().faults
    if way:
        assert any("it had happened" in one for one in faults["untrue"]), faults
    else:
        assert faults == {}


# --- a worker that dies ---------------------------------------------------------------------------------------------


@broken_again
def test_a_key_whose_call_is_open_has_no_answer_yet(open_site: Opening, way: str) -> None:
    """The conversation's lease ends long before the call's."""
    site = open_site(**undo(way, "a key whose call is open is answered"))
    said = asked_and_said_yes("keyed", "c1")
    site.start()
    site.converse("keyed", "c1")
    site.insist(said[0])
    site.hold("after")
    answer = site.begun(said[1], site.workers[-1])
    site.wait_inside()
    site.kill(site.workers[-1])
    answer.result()
    site.move_clock(CONVERSATION_LEASE)
    early = site.send(said[1], site.start())
    site.move_clock(LEASES)
    site.insist(said[1])
    faults = site.check().faults
    if way:
        assert "untrue" in faults
    else:
        assert (early.status, bool(early.retry_after)) == (409, True)
        assert faults == {}


@only_sqlite
def test_a_request_without_a_key_that_is_sent_again_is_the_same_request(open_site: Opening, back_end: BackEnd) -> None:
    """As clients of the OpenAI endpoint do: they know of no key, and send the whole talk each time."""
    shop = next(one for one in SHOPS if one.agreement == "nobody")
    back_end.keyed.add(shop.name)
    site = open_site(
        tenants={shop.name: make_shop(shop, back_end.url, TIMEOUT)}, effects=lambda: list(back_end.effects)
    )
    wish = Said(shop.name, "", "cancel order 12345", "k1", "12345", True, "completions", keyless=True)
    back_end.held.add(shop.name)
    answer = site.begun(wish, site.start())
    wait_until(lambda: back_end.waiting)
    site.kill(site.workers[-1])
    answer.result()
    back_end.held.clear()
    wait_until(lambda: back_end.effects)
    site.start()
    site.move_clock(CONVERSATION_LEASE)
    site.send(wish, site.workers[-1])
    site.move_clock(LEASES)
    site.insist(wish)
    assert site.check().faults == {}
    assert len(back_end.effects) == 1
