"""A CRM on loopback with an HTTP and JSON interface of its own taste, bad days included."""

from __future__ import annotations

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

TOKEN = "t0ken"


class CrmServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.people: list[dict[str, Any]] = []
        self.requests: list[tuple[str, str, dict[str, str]]] = []
        self.mood: dict[str, str] = {}
        """By method: "500", "garbage", "hang", "cut before" (nothing is done), "cut after" (it is done)."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/api"

    def __enter__(self) -> CrmServer:
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self.shutdown()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    server: CrmServer

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def do_PATCH(self) -> None:
        self._serve()

    def _serve(self) -> None:
        crm = self.server
        crm.requests.append((self.command, self.path, {name.lower(): value for name, value in self.headers.items()}))
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
        mood = crm.mood.get(self.command, "")
        if self.headers.get("authorization") != f"Bearer {TOKEN}":
            return self._say(401, {"error": "who are you"})
        match mood:
            case "500" | "404" | "409" | "429":
                return self._say(int(mood), {"error": f"secret stack trace of {body}"})
            case "garbage":
                return self._say(200, "<html>hello</html>")
            case "hang":
                return time.sleep(3)
            case "cut before":
                return self.connection.close()
        answer = self._do(urlsplit(self.path), body)
        if mood == "cut after":
            return self.connection.close()
        return self._say(200, answer)

    def _do(self, url: Any, body: dict[str, Any]) -> Any:
        people = self.server.people
        if self.command == "GET":
            mail = parse_qs(url.query)["mail"][0]
            return {"data": {"people": [one for one in people if mail.casefold() in one["mail"].casefold()]}}
        if self.command == "POST":
            people.append({"uid": len(people) + 1, **body})
            return people[-1]
        person = next(one for one in people if url.path.endswith(f"/people/{one['uid']}"))
        person.update(body)
        return person

    def _say(self, status: int, body: Any) -> None:
        content = (body if isinstance(body, str) else json.dumps(body)).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        pass
