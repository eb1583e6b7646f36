"""What `make fuzz-api` runs finds an operation that breaks, and passes one that does not."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tests.security.fuzz_api import fuzz

ANSWERS = {"/sound": 200, "/broken": 500, "/silent": 418}
DESCRIPTION = {
    "openapi": "3.1.0",
    "info": {"title": "three operations", "version": "1"},
    "paths": {
        path: {"get": {"operationId": path[1:], "responses": {"200": {"description": "well"}}}} for path in ANSWERS
    },
}


class Answering(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = json.dumps(DESCRIPTION if self.path == "/openapi.json" else {}).encode()
        self.send_response(ANSWERS.get(self.path.partition("?")[0], 200))
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def refuse(self) -> None:
        self.send_response(405)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_TRACE = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = do_HEAD = do_QUERY = refuse

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def url() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Answering) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


@pytest.mark.parametrize(("operation", "holds"), [("sound", True), ("broken", False), ("silent", False)])
def test_a_server_error_fails_it_and_so_does_a_status_that_nobody_told_of(
    url: str, tmp_path: Path, operation: str, holds: bool
) -> None:
    found = fuzz(url, tmp_path, "a-token", [operation], examples=3)
    assert found.held is holds
    assert found.operations == 1
    assert found.requests > 0


def test_it_ends_when_its_time_is_over_and_has_sent_to_everything(url: str, tmp_path: Path) -> None:
    found = fuzz(url, tmp_path, "a-token", [one[1:] for one in ANSWERS], examples=1_000_000_000, seconds=3)
    assert found.operations == len(ANSWERS)
