"""A tool behind a URL: described, not programmed. The request is a template, the token is a named secret.

The shop's own API runs here as a small server on this machine, so that what it received can be shown. An address like
that has to be allowed by name: without it a tool reaches the public internet and nothing else.
"""

import asyncio
import json
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from circumspect import Agent
from circumspect.errors import ConfigError
from circumspect.tools.definitions import read
from circumspect.tools.http_tool import HttpTool, HttpToolDefinition

RECEIVED: list[str] = []


class Shop(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        token = "with our token" if self.headers["Authorization"] == "Bearer tok-5f2a" else "without a token"
        key = "with a key" if self.headers["Idempotency-Key"] else "without a key"
        RECEIVED.append(f"POST {self.path} {body} {token}, {key}")
        answer = json.dumps({"order": {"id": self.path.split("/")[2], "status": "cancelled"}, "debug": "…"}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None: ...


def definition(port: int) -> HttpToolDefinition:
    return read(
        HttpToolDefinition,
        {
            "name": "cancel_order",
            "description": "Cancel an order.",
            "parameters": {
                "type": "object",
                "properties": {"order_id": {"type": "string", "pattern": "^[0-9]{5}$"}},
                "required": ["order_id"],
                "additionalProperties": False,
            },
            "effect": "destructive",
            "recovery": "keyed",
            "phrases": {"en": "cancel order {order_id}"},
            "request": {
                "method": "POST",
                "url": f"http://127.0.0.1:{port}/orders/{{order_id}}/cancel",
                "json": {"order": "{order_id}", "reason": "asked for in the chat"},
                "result": "order",
            },
            "auth": {"bearer": {"secret": "shop_token"}},
        },
    )


async def main() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Shop)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    described = definition(server.server_port)
    try:
        HttpTool(described)
    except ConfigError as refused:
        print(f"without leave: {refused.problem}")
    tool = HttpTool(described, secrets={"shop_token": "tok-5f2a"}.__getitem__, allow=["127.0.0.1"])
    with tempfile.TemporaryDirectory() as folder:
        async with Agent("support", tools=[tool], model="offline", database=f"{folder}/circumspect.db") as agent:
            for text in ("Cancel order 12345", "Yes"):
                turn = await agent.turn(text)
                print(f"user:  {text}\nagent: {turn.reply}\n       ({turn.outcome}: {', '.join(turn.reason_codes)})")
    print("the shop received:", *RECEIVED, sep="\n  ")
    server.shutdown()
    server.server_close()


if __name__ == "__main__":
    asyncio.run(main())
