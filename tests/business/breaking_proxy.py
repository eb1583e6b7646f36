"""Stands before a real server and, for some methods, has a bad day: the request arrives, or it does not."""

from __future__ import annotations

import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self

import httpx2
from tests.patience import PATIENCE

HANGS = 3.0


class BreakingProxy(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address: str) -> None:
        """`address` is the server's, without a path."""
        super().__init__(("127.0.0.1", 0), _Handler)
        self.address = address
        self.asked: list[str] = []
        self.mood: dict[str, str] = {}
        """By method: "hang" and "cut before" (nothing is done), "garbage", "500" and "cut after" (it is done)."""
        self.after = ""
        """Moods hold only once this method was let through."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def find_mood(self, method: str) -> str:
        return "" if self.after and self.after not in self.asked else self.mood.get(method, "")

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self.shutdown()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    server: BreakingProxy

    def _serve(self) -> None:
        proxy = self.server
        mood = proxy.find_mood(self.command)
        proxy.asked.append(self.command)
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        if mood == "hang":
            return time.sleep(HANGS)
        if mood == "cut before":
            return self.connection.close()
        kept = {name: value for name, value in self.headers.items() if name.lower() not in ("host", "accept-encoding")}
        url = f"{proxy.address}{self.path}"
        answer = httpx2.request(self.command, url, content=body, headers=kept, timeout=PATIENCE)
        if mood == "cut after":
            return self.connection.close()
        self.send_response(500 if mood == "500" else answer.status_code)
        content = b"<html>hello" if mood in ("garbage", "500") else answer.content
        for name in ("content-type", "etag"):
            if name in answer.headers:
                self.send_header(name, answer.headers[name])
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
        return None

    do_GET = do_PUT = do_POST = do_PATCH = do_DELETE = do_REPORT = _serve

    def log_message(self, format: str, *args: object) -> None:
        pass
