"""A small site on loopback whose buttons really do something, and which writes down what it was told to do."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from circumspect.errors import ConfigError
from circumspect.web.browser.chromium import find_chromium


def has_chromium() -> bool:
    try:
        return bool(find_chromium())
    except ConfigError:
        return False


@dataclass
class Till:
    url: str = ""
    pages: dict[str, str] = field(default_factory=dict)
    """What is shown at a path."""
    answers: dict[str, tuple[int, str]] = field(default_factory=dict)
    """What a form that is posted to a path gets: the status and the page."""
    asked: list[str] = field(default_factory=list)
    """What was looked at, with its query."""
    did: list[str] = field(default_factory=list)
    """The paths that were posted to."""


def button_page(*names: str) -> str:
    """Buttons without a form: a script sends what they do."""
    lines = [
        f"<p><button onclick=\"fetch('/did/{n}', {{method: 'POST'}})\">{name}</button></p>"
        for n, name in enumerate(names)
    ]
    return "".join(lines)


@contextmanager
def serve_till(pages: Mapping[str, str], answers: Mapping[str, tuple[int, str]] | None = None) -> Iterator[Till]:
    till = Till(pages=dict(pages), answers=dict(answers or {}))

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            till.asked.append(self.path)
            page = till.pages.get(self.path.partition("?")[0])
            self._answer(200 if page is not None else 404, page or "Not found")

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("content-length") or 0))
            till.did.append(self.path)
            status, page = till.answers.get(self.path, (200, "Done"))
            self._answer(status, page)

        def _answer(self, status: int, body: str) -> None:
            html = f"<!doctype html><meta charset=utf-8><title>Till</title>{body}".encode()
            self.send_response(status)
            self.send_header("content-type", "text/html; charset=utf-8")
            self.send_header("content-length", str(len(html)))
            self.end_headers()
            self.wfile.write(html)

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    till.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield till
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
