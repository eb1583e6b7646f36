"""A server that speaks `POST /v1/embeddings`. A text's vector says how long it is and how much about money;
the model's name says how it behaves."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread


class Answers(BaseHTTPRequestHandler):
    seen: list[tuple[str, str | None, dict]] = []

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.seen.append((self.path, self.headers["Authorization"], asked))
        vectors = [[len(text), 1.0 + 200.0 * text.count("Money")] for text in asked["input"]]
        rows = [{"object": "embedding", "index": n, "embedding": vector} for n, vector in enumerate(vectors)]
        model = asked["model"]
        status = {"busy": 429, "broken": 503, "unknown": 404}.get(model, 200)
        if model == "short-sighted" and any(len(text) > 1_000 for text in asked["input"]):
            status = 400
        if model == "short":
            rows.pop()
        if model == "slow":
            time.sleep(2)
        body = b"<html>" if model == "garbled" else json.dumps({"object": "list", "data": rows[::-1]}).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None: ...


@contextmanager
def embeddings() -> Iterator[str]:
    """Its address."""
    Answers.seen.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1/"
        server.shutdown()
