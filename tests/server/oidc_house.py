"""A real OpenID Connect provider (`oidc-provider` in Node) on loopback, and a browser that goes there and comes back."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from tests.patience import PATIENCE
from tests.server.node_client import NODE_MODULES

SCRIPT = Path(__file__).with_name("oidc_provider.mjs")
SITE = "http://server.test"
CLIENT, SECRET = "circumspect", "a secret with : and / in it"
PEOPLE: dict[str, dict[str, Any]] = {
    "u1": {"email": "dana@shop.example", "email_verified": True, "groups": ["support"]},
    "u2": {"email": "eli@shop.example", "email_verified": False, "groups": ["support"]},
    "u3": {"email": "mallory@shop.example", "email_verified": True, "groups": ["everybody"]},
    "u4": {"email": "dana@shop.example", "email_verified": True, "groups": ["support"]},
}


def make_jwks(kid: str) -> dict[str, Any]:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    own = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(key))
    own.pop("key_ops", None)
    return {"keys": [{**own, "kid": kid, "use": "sig", "alg": "RS256"}]}


@dataclass
class RealProvider:
    url: str

    def sign_in(self, way: str, person: str, browser: httpx.Client | None = None) -> str:
        """Through its pages, as a browser would; where it sends the browser back to."""
        with httpx.Client(trust_env=False, timeout=PATIENCE) if browser is None else browser as client:
            answer = client.get(way)
            for _ in range(12):
                to = answer.headers.get("location")
                if to is not None:
                    to = urljoin(str(answer.url), to)
                    if to.startswith(SITE):
                        return to
                    answer = client.get(to)
                    continue
                action = re.search(r'action="([^"]+)"', answer.text)
                prompt = re.search(r'name="prompt" value="(\w+)"', answer.text)
                assert action, (answer.status_code, answer.text)
                assert prompt, answer.text
                said = {"prompt": prompt[1], "login": person, "password": "anything"}
                answer = client.post(urljoin(str(answer.url), action[1]), data=said)
        raise AssertionError("it never sent the browser back")


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextmanager
def real_provider(folder: Path, port: int, jwks: dict[str, Any]) -> Iterator[RealProvider]:
    node = shutil.which("node")
    if node is None or not (NODE_MODULES / "oidc-provider").is_dir():
        pytest.skip("NO OPENID PROVIDER: run `make services` to test the sign-in at one")
    script = folder / "provider.mjs"
    shutil.copy(SCRIPT, script)
    modules = folder / "node_modules"
    if not modules.exists():
        modules.symlink_to(NODE_MODULES.resolve())
    said = {"PORT": str(port), "PEOPLE": json.dumps(PEOPLE), "CLIENT": CLIENT, "SECRET": SECRET, "SITE": SITE}
    log = folder / "provider.log"
    with log.open("a") as complaints:
        running = subprocess.Popen(
            [node, str(script)],
            cwd=folder,
            env={"PATH": os.environ["PATH"], "JWKS": json.dumps(jwks), **said},
            stdout=subprocess.PIPE,
            stderr=complaints,
            text=True,
        )
    assert running.stdout is not None
    try:
        line = running.stdout.readline()
        assert "listening" in line, log.read_text()
        yield RealProvider(f"http://127.0.0.1:{port}")
    finally:
        running.terminate()
        running.wait(PATIENCE)
        running.stdout.close()
