"""What a page costs the model in tokens: raw HTML, Playwright's own snapshot for models, our listing, ours trimmed.

    python -m bench.pages

On the pages of the example clinic and on generated ones as the web has them: a table of five hundred rows, a shop with
a mega menu, a long article, a list of results with addresses that track. `found` says whether what the query is after
is in the trimmed listing. Every page is opened in Chromium; the HTML is what the server sent.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from examples.clinic import serve

from bench import tokens
from bench.report import duration
from circumspect.web.browser.html_snapshot import page_of_html
from circumspect.web.browser.live_page import snapshot
from circumspect.web.browser.trimming import trim_page

TEXT = "the clinic keeps records of every visit and sends a letter when something has to be decided by the patient"
TASKS = {
    "/dashboard": ("add a new patient", "Patient"),
    "/patients/new": ("add the patient Ann Lee", "First name"),
    "/patients/1": ("delete this patient", "Delete patient"),
    "/billing": ("pay claim 3", "Pay claim 3"),
    "/messages": ("answer the message", "Reply"),
    "/settings": ("rename the clinic", "Clinic name"),
}


@dataclass(frozen=True)
class Sample:
    name: str
    html: str
    """Empty where the clinic serves it."""
    query: str
    target: str
    """What the trimmed listing must have in it."""


@dataclass(frozen=True)
class Figures:
    html: int
    playwright: int
    listing: int
    trimmed: int
    elements: int
    kept: int
    found: bool
    live: float
    """Seconds that a snapshot takes in the browser."""
    read: float
    """Seconds that the same takes from the HTML."""


def samples() -> Iterator[Sample]:
    for path, (query, target) in TASKS.items():
        yield Sample(path, "", query, target)
    yield Sample("table of 500 rows", _table(500), "archive the record of Grace Person314", "314 Grace Person314")
    yield Sample("shop with a mega menu", _shop(), "put the walnut desk into the cart", "Add Walnut desk to cart")
    yield Sample("long article", _article(), "who founded the hospital", "Amara Osei in 1921")
    yield Sample("results that track", _results(), "open the result about kidney stones", "Kidney stones 37")


def _document(body: str) -> str:
    code = "".join(f"window.part{number} = {{loaded: true, weight: {number}}};" for number in range(200))
    style = "".join(f".u-{number} {{ margin: {number}px; padding: {number}px }}" for number in range(200))
    head = f"<title>Sample</title><style>{style}</style><script>{code}</script>"
    return f"<!doctype html><html lang=en><head>{head}</head><body>{body}</body></html>"


def _table(rows: int) -> str:
    names = ("Ann", "Oleg", "Grace", "Maya")
    lines = "".join(
        f'<tr class="u-3 row"><td class="cell u-1">{number}</td><td class="cell u-2">{names[number % 4]} Person{number}'
        f'</td><td class="cell">1990-05-{number % 28 + 1:02}</td>'
        f'<td><a class="link u-4" href="/patients/{number}">Open</a></td>'
        f'<td><button type="button" class="button u-5" data-action="archive">Archive</button></td></tr>'
        for number in range(rows)
    )
    return _document(f"<h1>Patients</h1><input aria-label=Filter><table><tbody>{lines}</tbody></table>")


def _shop() -> str:
    menus = "".join(
        f"<li><button aria-haspopup=true aria-expanded=false>Department {top}</button><div class='panel u-{top}'>"
        + "".join(f'<a class="u-9" href="/c/{top}/{leaf}">Department {top} shelf {leaf}</a>' for leaf in range(30))
        + "</div></li>"
        for top in range(20)
    )
    goods = "".join(
        f'<article class="u-8"><a href="/p/{number}"><img src="/i/{number}.webp" alt="{name} picture"></a>'
        f"<h3>{name}</h3>"
        f'<p>From ${number * 7}</p><svg viewBox="0 0 9 9"><path d="M1 1 L8 8 Z"/></svg>'
        f'<button class="u-7" aria-label="Add {name} to cart">+</button></article>'
        for number, name in enumerate([*(f"Oak chair {number}" for number in range(60)), "Walnut desk"])
    )
    return _document(f"<header><nav aria-label=Departments><ul>{menus}</ul></nav></header><main>{goods}</main>")


def _article() -> str:
    text = "".join(
        f"<p class=u-2>Paragraph {number}: {TEXT}, <a href='/t/{number}'>topic {number}</a>.</p>"
        for number in range(300)
    )
    founder = "<h2>Founder</h2><p>The hospital was founded by Amara Osei in 1921.</p>"
    return _document(f"<h1>The hospital</h1>{text}{founder}")


def _results() -> str:
    noise = "&amp;".join(f"utm_{word}=0f{place}a9c{place}7e" for place, word in enumerate(TEXT.split()[:8]))
    topics = ("Kidney stones", "Back pain", "Sleep", "Migraine")
    hits = "".join(
        f'<div class="u-6"><a href="https://go.example/r/{number}?{noise}">'
        f"<h3>{topics[number % 4]} {number + 1}</h3></a>"
        f"<p>{TEXT}</p></div>"
        for number in range(100)
    )
    return _document(f"<form role=search><input type=search aria-label=Search></form>{hits}")


async def measured(tab: Any, url: str, sample: Sample) -> Figures:
    html = sample.html
    if html:
        await tab.route("**/sample", lambda route: route.fulfill(body=html, content_type="text/html; charset=utf-8"))
        answer = await tab.goto(f"{url}/sample")
    else:
        answer = await tab.goto(url + sample.name)
    html = html or await answer.text()
    theirs = await tab.aria_snapshot(mode="ai")
    began = time.perf_counter()
    page = await snapshot(tab)
    live = time.perf_counter() - began
    began = time.perf_counter()
    page_of_html(html, page.url)
    read = time.perf_counter() - began
    await tab.unroute_all()
    short = trim_page(page, sample.query)
    return Figures(
        html=tokens.count(html),
        playwright=tokens.count(theirs),
        listing=tokens.count(page.listing),
        trimmed=tokens.count(short.listing),
        elements=len(page.elements),
        kept=len(short.elements),
        found=sample.target in short.listing,
        live=live,
        read=read,
    )


async def main() -> None:
    from playwright.async_api import async_playwright

    from circumspect.web.browser.chromium import find_chromium

    print(f"Tokens by {tokens.NAME}.\n")
    print("| page | raw HTML | Playwright | listing | trimmed | elements | kept | found | snapshot | from HTML |")
    print("| --- |" + " ---: |" * 9)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=find_chromium(), args=["--disable-gpu"])
        with serve() as served:
            tab = await browser.new_page()
            for sample in samples():
                one = await measured(tab, served.url, sample)
                cells = [one.html, one.playwright, one.listing, one.trimmed, one.elements, one.kept]
                said = [*(f"{cell:,}" for cell in cells), "yes" if one.found else "NO"]
                print(f"| {sample.name} | {' | '.join([*said, duration(one.live), duration(one.read)])} |")
        await browser.close()


if __name__ == "__main__":
    asyncio.run(main())
