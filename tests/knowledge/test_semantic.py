"""The embeddings endpoint, over HTTP as OpenAI speaks it, and what happens when it does not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from circumspect.errors import ModelGarbled, ModelRefused, ModelUnavailable
from circumspect.knowledge.semantic import AT_ONCE, Endpoint, nearest, packed


class Answers(BaseHTTPRequestHandler):
    """Speaks `POST /v1/embeddings`; the model's name says how it behaves."""

    seen: list[tuple[str, str | None, dict]] = []

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.seen.append((self.path, self.headers["Authorization"], asked))
        rows = [{"object": "embedding", "index": n, "embedding": [len(t), 1.0]} for n, t in enumerate(asked["input"])]
        model = asked["model"]
        status = {"busy": 429, "broken": 503, "unknown": 404}.get(model, 200)
        if model == "short":
            rows.pop()
        body = b"<html>" if model == "garbled" else json.dumps({"object": "list", "data": rows[::-1]}).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def url() -> Iterator[str]:
    Answers.seen.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1/"
        server.shutdown()


async def test_texts_become_vectors_in_their_order_and_in_batches(url):
    texts = ["x" * n for n in range(1, AT_ONCE + 11)]
    vectors = await Endpoint(url, "small", "secret").embed(texts)
    assert [vector[0] for vector in vectors] == [len(text) for text in texts]
    assert [len(asked["input"]) for _, _, asked in Answers.seen] == [AT_ONCE, 10]
    path, key, asked = Answers.seen[0]
    assert (path, key, asked["model"]) == ("/v1/embeddings", "Bearer secret", "small")


@pytest.mark.parametrize(
    ("model", "error"),
    [
        ("busy", ModelUnavailable),
        ("broken", ModelUnavailable),
        ("unknown", ModelRefused),
        ("garbled", ModelGarbled),
        ("short", ModelGarbled),
    ],
)
async def test_what_goes_wrong_has_a_name(url, model, error):
    with pytest.raises(error):
        await Endpoint(url, model).embed(["a", "b"])


async def test_nobody_there_is_unavailable():
    with pytest.raises(ModelUnavailable):
        await Endpoint("http://127.0.0.1:1/v1", "small", timeout=2).embed(["a"])


def test_the_nearest_come_first_and_other_lengths_do_not_count():
    stored = [
        (1, packed([1, 0])),
        (2, packed([1, 1])),
        (3, packed([0, 1])),
        (4, packed([1, 0, 0])),
        (5, packed([0, 0])),
    ]
    found = nearest([2.0, 0.1], stored, 3)
    assert [id_ for id_, _ in found] == [1, 2, 3]
    assert found[0][1] == pytest.approx(0.9988, abs=1e-3)
    assert nearest([1.0], stored, 3) == []
