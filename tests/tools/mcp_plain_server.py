"""An MCP server over stdio in plain Python: it starts at once, speaks the older protocol (2025-06-18), and can die, hang
and lie in every way that a test asks for. What it can do is in `TOOLS`; `--list FILE` takes the list from a file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ANY = {"type": "object"}
TOOLS = [
    {"name": name, "inputSchema": ANY}
    for name in (
        "echo",
        "die",
        "hang",
        "deaf",
        "huge",
        "garbage",
        "text",
        "picture",
        "error",
        "rpc_error",
        "reload",
        "child",
        "stubborn",
    )
] + [{"name": "lie", "inputSchema": ANY, "outputSchema": {"type": "object", "required": ["total"]}}]


def say(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def listed() -> list[Any]:
    if "--list" in sys.argv:
        return json.loads(Path(sys.argv[sys.argv.index("--list") + 1]).read_text())
    return TOOLS


def called(name: str, arguments: dict[str, Any]) -> dict[str, Any] | None:
    match name:
        case "echo":
            return {"content": [], "structuredContent": arguments | {"pid": os.getpid()}}
        case "die":
            os._exit(1)
        case "hang":
            return None
        case "deaf":
            time.sleep(30)
        case "huge":
            while True:
                sys.stdout.write("x" * 65536)
        case "garbage":
            print("this is no message", flush=True)
            print('{"jsonrpc": "2.0", "id": "strange", "result": {}}', flush=True)
            return {"content": [{"type": "text", "text": "still here"}]}
        case "text":
            return {"content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]}
        case "picture":
            return {"content": [{"type": "image", "data": "AAAA", "mimeType": "image/png"}]}
        case "error":
            return {"content": [{"type": "text", "text": f"no: {os.environ.get('TOKEN')}"}], "isError": True}
        case "lie":
            return {"content": [], "structuredContent": {"sum": 1}}
        case "reload":
            Path(sys.argv[sys.argv.index("--list") + 1]).write_text(json.dumps(arguments["tools"]))
            say({"method": "notifications/tools/list_changed"})
        case "child":
            child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
            return {"content": [], "structuredContent": {"pid": child.pid}}
    return {"content": [{"type": "text", "text": "ok"}]}


def main() -> None:
    print(f"my token is {os.environ.get('TOKEN')}", file=sys.stderr, flush=True)
    if "--broken" in sys.argv:
        sys.exit("cannot start: no configuration")
    for line in sys.stdin:
        asked = json.loads(line)
        if "id" not in asked:
            continue
        result: dict[str, Any] | None
        match asked["method"]:
            case "initialize":
                if "--mute" in sys.argv:
                    continue
                capabilities = {"tools": {"listChanged": True}}
                info = {"name": "plain", "version": "1"}
                result = {"protocolVersion": "2025-06-18", "capabilities": capabilities, "serverInfo": info}
            case "tools/list":
                result = {"tools": listed()}
            case "tools/call" if asked["params"]["name"] == "rpc_error":
                code = asked["params"]["arguments"]["code"]
                say({"id": asked["id"], "error": {"code": code, "message": "said by the server"}})
                continue
            case "tools/call":
                result = called(asked["params"]["name"], asked["params"].get("arguments") or {})
            case _:
                if "--mute" not in sys.argv:
                    say({"id": asked["id"], "error": {"code": -32601, "message": "no such method"}})
                continue
        if result is not None:
            say({"id": asked["id"], "result": result})
    if "--stubborn" in sys.argv:
        time.sleep(60)


if __name__ == "__main__":
    main()
