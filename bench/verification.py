"""How often our verification of browser actions is right. `python -m bench.verification [--half odd|even] [--show]`

Drives the clinic's site (`examples/clinic`) in a real Chromium: takes a snapshot, performs the action, takes another,
and asks the site itself what is true (`bench/verification_pairs.py`). Beside ours stand two naive verifiers: "the
address changed, so it worked", and "something changed, so it worked". `--half` judges every second pair only, so that
one half can be kept unseen while the other is worked on; `--record FILE` writes the pairs as JSON lines.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections.abc import Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urljoin

from examples.clinic import Served, State, serve

from bench.verification_pairs import PAIRS, Action, Pair
from circumspect.values import ToolCall
from circumspect.web.browser.chromium import Chromium
from circumspect.web.browser.expectations import expect
from circumspect.web.browser.live_page import snapshot
from circumspect.web.browser.verification import verify
from circumspect.web.page import Expected, Page, Verified


@dataclass(frozen=True)
class Judged:
    pair: Pair
    truth: bool
    expected: Expected
    before: Page
    after: Page
    verified: Verified
    performed: str

    @property
    def right(self) -> bool:
        return self.verified.success == self.truth

    @property
    def by_address(self) -> bool:
        return self.before.url != self.after.url

    @property
    def by_any_change(self) -> bool:
        return (self.before.url, self.before.elements, self.before.text) != (
            self.after.url, self.after.elements, self.after.text
        )  # fmt: skip


class Sites:
    """The clinic, open to everybody and behind its sign-in page. Each pair finds it as new."""

    def __init__(self, free: Served, guarded: Served) -> None:
        self._free, self._guarded = free, guarded

    def fresh(self, pair: Pair) -> Served:
        site = self._guarded if pair.signed_out else self._free
        vars(site.state).update(vars(State()))
        return site


@contextmanager
def sites() -> Iterator[Sites]:
    with serve() as free, serve(sign_in=True) as guarded:
        yield Sites(free, guarded)


async def judge(pair: Pair, browser: Chromium, served: Sites) -> Judged:
    """Play one pair: what was expected, what was seen, what is true."""
    site = served.fresh(pair)
    await browser.tab.context.clear_cookies()
    page = await _started(pair, browser, site)
    call = called(pair.action, page, site.url)
    expected = expect(call, page)
    if pair.server:
        pair.server(site.state)
    async with _answered(pair, browser):
        performed = await browser.perform(call, page)
        after = await browser.snapshot()
    truth = pair.works(site.state) if callable(pair.works) else bool(await browser.tab.evaluate(pair.works))
    return Judged(pair, truth, expected, page, after, verify(expected, page, after), performed.error)


async def _started(pair: Pair, browser: Chromium, site: Served) -> Page:
    while len(browser.tab.context.pages) > 1:
        await browser.tab.close()
    await browser.tab.unroute_all()
    if pair.html:
        await browser.tab.route(
            "**/wild", lambda route: route.fulfill(body=pair.html, content_type="text/html; charset=utf-8")
        )
    page = await browser.goto(site.url + pair.path) if not pair.impatient else Page("")
    if pair.impatient:
        await browser.tab.goto(site.url + pair.path)
    if pair.broken:
        await browser.tab.evaluate(f"() => {{ {pair.broken} }}")
    if pair.impatient:
        return await snapshot(browser.tab)
    if pair.broken:
        page = await browser.snapshot()
    for action in pair.first:
        await browser.perform(called(action, page, site.url), page)
        page = await browser.snapshot()
    return page


@asynccontextmanager
async def _answered(pair: Pair, browser: Chromium):  # type: ignore[no-untyped-def]
    tab = browser.tab

    async def answer(route) -> None:  # type: ignore[no-untyped-def]
        status, text = next(said for path, said in pair.answers.items() if route.request.url.endswith(path))
        if route.request.method != "POST":
            await route.continue_()
        elif status:
            await route.fulfill(status=status, body=text, content_type="text/html; charset=utf-8")
        else:
            await route.abort()

    for path in pair.answers:
        await tab.route(f"**{path}", answer)
    yield
    for path in pair.answers:
        await tab.unroute(f"**{path}", answer)


def called(action: Action, page: Page, url: str) -> ToolCall:
    arguments = dict(action.arguments)
    if action.role:
        found = [one for one in page.elements if (one.role, one.name) == (action.role, action.name)]
        if not found:
            raise LookupError(f'No {action.role} "{action.name}" on the page:\n{page.listing}')
        arguments["element"] = found[0].id
    if "url" in arguments:
        arguments["url"] = urljoin(url, str(arguments["url"]))
    return ToolCall(action.tool, arguments)


async def judge_all(pairs: Sequence[Pair], at_once: int = 3) -> list[Judged]:
    """In several browsers, each with a site of its own: most of the time is spent waiting for pages to come to rest."""
    left = list(enumerate(pairs))[::-1]
    found: dict[int, Judged] = {}

    async def work() -> None:
        with sites() as served:
            async with Chromium.open() as browser:
                while left:
                    place, pair = left.pop()
                    found[place] = await judge(pair, browser, served)

    await asyncio.gather(*(work() for _ in range(at_once)))
    return [found[place] for place in range(len(pairs))]


def report(judged: Sequence[Judged], seconds: float) -> None:
    good = sum(one.truth for one in judged)
    print(f"{len(judged)} pairs ({good} that worked, {len(judged) - good} that did not), {seconds:.0f} s in Chromium\n")
    print(f"{'':34}right     false success  false failure")
    verifiers = (
        ("ours", lambda one: one.verified.success),
        ("naive: the address changed", lambda one: one.by_address),
        ("naive: something changed", lambda one: one.by_any_change),
    )
    for name, says in verifiers:
        right = sum(says(one) == one.truth for one in judged)
        false_success = sum(says(one) and not one.truth for one in judged)
        false_failure = sum(one.truth and not says(one) for one in judged)
        print(f"{name:34}{right / len(judged):6.1%}    {false_success:13}  {false_failure:13}")
    print("\nby what was expected:")
    for kind in dict.fromkeys(one.expected.kind for one in judged):
        mine = [one for one in judged if one.expected.kind == kind]
        print(f"  {kind:12}{sum(one.right for one in mine):4} of {len(mine)}")


def show(one: Judged) -> None:
    print(f"{'ok ' if one.right else 'BAD'} {one.pair.what} [{one.expected.kind}] truth={one.truth}")
    print(f"      {one.verified.success} {one.verified.confidence}: {one.verified.happened} {one.verified.error}")
    print(f"      expected: {one.expected.why}" + (f" | performed: {one.performed}" if one.performed else ""))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--half", choices=("odd", "even"))
    parser.add_argument("--show", action="store_true", help="every pair, not only those that were judged wrongly")
    parser.add_argument("--record", type=Path)
    asked = parser.parse_args()
    pairs = PAIRS if asked.half is None else PAIRS[0 if asked.half == "odd" else 1 :: 2]
    started = time.perf_counter()
    judged = asyncio.run(judge_all(pairs))
    for one in judged:
        if asked.show or not one.right:
            show(one)
        if one.truth != one.pair.good:
            print(f"!!! the site disagrees with the table: {one.pair.what}")
    if asked.record:
        lines = (
            {"what": one.pair.what, "truth": one.truth, "expected": one.expected.to_json(),
             "before": one.before.to_json(), "after": one.after.to_json()}
            for one in judged
        )  # fmt: skip
        asked.record.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), "utf-8")
    report(judged, time.perf_counter() - started)


if __name__ == "__main__":
    main()
