"""Tavily and SearXNG on loopback: their wire formats, their refusals and their bad days, over real sockets.

    async with TavilyServer(pages=PAGES) as server: Tavily(KEY, base_url=server.url, allow=("127.0.0.1",))

Every request takes the next act, if there is one: bytes are sent as they stand, a coroutine function does what it likes
with the connection. Otherwise the server answers from its pages, best match first.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

from tests.tools.raw_server import Answer, Asked, RawServer, answer

KEY = "tvly-dev-0123456789abcdef"


@dataclass(frozen=True)
class WebPage:
    url: str
    title: str
    content: str

    def words(self) -> set[str]:
        return set(f"{self.title} {self.content}".lower().split())


class _Acting(RawServer):
    def __init__(self, pages: Sequence[WebPage] = ()) -> None:
        super().__init__(self._act)
        self.pages = list(pages)
        self.acts: deque[Answer] = deque()

    def plays(self, *acts: Answer) -> None:
        self.acts.extend(acts)

    async def _act(self, asked: Asked, writer: asyncio.StreamWriter) -> None:
        act = self.acts.popleft() if self.acts else self.reply(asked)
        if isinstance(act, bytes):
            writer.write(act)
            await writer.drain()
        else:
            await act(asked, writer)

    def reply(self, asked: Asked) -> bytes:
        raise NotImplementedError

    def matching(self, words: Sequence[str]) -> list[WebPage]:
        wanted = {word.lower() for word in words}
        found = [page for page in self.pages if wanted & page.words()]
        return sorted(found, key=lambda page: -len(wanted & page.words()))


class TavilyServer(_Acting):
    """`strict=False` is a provider that does not keep to `include_domains`."""

    def __init__(self, pages: Sequence[WebPage] = (), *, strict: bool = True) -> None:
        super().__init__(pages)
        self._strict = strict

    @property
    def bodies(self) -> list[dict[str, object]]:
        return [asked.json for asked in self.asked]

    def reply(self, asked: Asked) -> bytes:
        if (asked.method, asked.target) != ("POST", "/search"):
            return answer(404, {"detail": "Not Found"})
        if asked.headers.get("authorization") != f"Bearer {KEY}":
            return answer(401, {"detail": {"error": "Unauthorized: missing or invalid API key."}})
        body = asked.json
        if asked.headers.get("content-type") != "application/json" or not body.get("query"):
            return answer(400, {"detail": {"error": "Query is missing."}})
        if len(body["query"]) > 400:
            return answer(400, {"detail": {"error": "Query is too long. Max query length is 400 characters."}})
        if not 0 <= body["max_results"] <= 20:
            return answer(422, {"detail": [{"loc": ["body", "max_results"], "msg": "less than or equal to 20"}]})
        domains = body.get("include_domains") or []
        pages = [
            page
            for page in self.matching(body["query"].split())
            if not domains or not self._strict or any(page.url.split("/")[2].endswith(one) for one in domains)
        ]
        return answer(200, tavily_answer(body["query"], pages[: body["max_results"]]))


def tavily_answer(query: str, pages: Sequence[WebPage]) -> dict[str, object]:
    results = [
        {"url": page.url, "title": page.title, "content": page.content, "score": 0.9 - n / 100, "raw_content": None}
        for n, page in enumerate(pages)
    ]
    return {
        "query": query,
        "follow_up_questions": None,
        "answer": None,
        "images": [],
        "results": results,
        "response_time": 1.09,
        "request_id": "4d1c1d0f-8f4e-4bb7-a1de-5b4c3b0e6a11",
    }


class SearXNGServer(_Acting):
    """`engines` say whether each keeps to `site:`; `silent` are the engines that do not answer."""

    def __init__(
        self,
        pages: Sequence[WebPage] = (),
        *,
        formats: Sequence[str] = ("html", "json"),
        engines: Sequence[bool] = (True,),
        silent: Sequence[tuple[str, str]] = (),
        limiter: bool = False,
    ) -> None:
        super().__init__(pages)
        self._formats = formats
        self._engines = engines
        self._silent = silent
        self._limiter = limiter

    @property
    def queries(self) -> list[str]:
        return [parse_qs(urlsplit(asked.target).query)["q"][0] for asked in self.asked]

    def reply(self, asked: Asked) -> bytes:
        form = {name: values[0] for name, values in parse_qs(urlsplit(asked.target).query).items()}
        if asked.method not in ("GET", "POST") or urlsplit(asked.target).path != "/search":
            return answer(404, "<!doctype html><title>404 Not Found</title>", content_type="text/html")
        if self._limiter:
            return answer(429, "Too Many Requests", content_type="text/html; charset=utf-8")
        if form.get("format", "html") not in self._formats:
            return answer(403, "<!doctype html><title>403 Forbidden</title>", content_type="text/html; charset=utf-8")
        words = form.get("q", "").split()
        if not words:
            return answer(400, {"error": "No query"})
        if any(word.startswith("!!") for word in words):
            return answer(302, "", location="https://elsewhere.example/?q=" + form["q"])
        if form.get("format") != "json":
            return answer(200, "<!doctype html><html></html>", content_type="text/html; charset=utf-8")
        return answer(200, self._found(form["q"], words))

    def _found(self, query: str, words: Sequence[str]) -> dict[str, object]:
        sites = [word.removeprefix("site:") for word in words if word.startswith("site:")]
        pages = self.matching([word for word in words if not word.startswith("site:")])
        positions: dict[WebPage, list[int]] = {}
        for obeys in self._engines:
            kept = [page for page in pages if not obeys or all(page.url.split("/")[2].endswith(one) for one in sites)]
            for place, page in enumerate(kept, 1):
                positions.setdefault(page, []).append(place)
        rows = [searxng_row(page, places) for page, places in positions.items()]
        return {
            "query": query,
            "results": sorted(rows, key=lambda row: -float(str(row["score"]))),
            "answers": [],
            "corrections": [],
            "infoboxes": [],
            "suggestions": [],
            "unresponsive_engines": [list(one) for one in self._silent],
        }


def searxng_row(page: WebPage, positions: Sequence[int]) -> dict[str, object]:
    return {
        "url": page.url,
        "title": page.title,
        "content": page.content,
        "engine": "engine1",
        "template": "default.html",
        "parsed_url": [*urlsplit(page.url), ""],
        "img_src": "",
        "thumbnail": "",
        "priority": "",
        "engines": [f"engine{n}" for n, _ in enumerate(positions, 1)],
        "positions": list(positions),
        "score": sum(len(positions) / place for place in positions),
        "category": "general",
    }
