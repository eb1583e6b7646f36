"""What people say and what is secret is in no log, no metric, no description and no answer to anybody else."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import pytest
from tests.security.fortress import METRICS, PASSWORD, ROOT, SECRET, Fortress

from circumspect.server.app import create_app

WORDS = "zebrafish-quartz"
"""In everything that a person says here, and nowhere else."""


@pytest.fixture(scope="module")
def talked(fortress: Fortress) -> Fortress:
    """Everything that can be said, said with a mark: in words, ids, names, keys, errors."""
    key, anyone, operator = fortress.key, fortress.anyone, fortress.operator
    key.post("/v1/conversations", json={"id": "silent", "person": f"{WORDS}-person"})
    messages = "/v1/conversations/silent/messages"
    for text in (
        f"cancel order 12345 {WORDS}",
        f"my card is 4111 1111 1111 1111, {WORDS}",
        "cancel order 12345",
        "yes",
        f"I want to speak to a human about {WORDS}",
        f"return order {WORDS}",
    ):
        key.post(
            messages,
            json={"content": text, "person": f"{WORDS}-person"},
            headers={"Idempotency-Key": f"{WORDS}-{len(text)}"},
        )
    key.post(messages, json={"content": WORDS, "person": f"{WORDS}-person"}, headers={"Accept": "text/event-stream"})
    chat = {"model": "circumspect", "messages": [{"role": "user", "content": f"hello {WORDS}"}], "user": WORDS}
    for stream in (False, True):
        assert key.post("/v1/chat/completions", json={**chat, "stream": stream}).status_code == 200
    # What is wrong is where words usually get into logs.
    key.post(messages, content=f'{{"content": "{WORDS}'.encode(), headers={"Content-Type": "application/json"})
    key.post(messages, json={"content": {WORDS: WORDS}, WORDS: 1})
    key.post(messages, json={"content": WORDS * 20_000})
    key.get(f"/v1/conversations/{WORDS}")
    key.get("/v1/conversations", params={"person": WORDS, "after": WORDS, "tenant": WORDS})
    key.get("/v1/models", headers={"User-Agent": WORDS, "Referer": WORDS, "X-Forwarded-For": WORDS})
    key.post("/v1/admin/policies/check", json={"text": f"version: 1\n{WORDS}: x"})
    key.put("/v1/admin/policies", json={"text": f"tools: {{{WORDS}: {{effect: {WORDS}}}}}"})
    key.post("/v1/audit", json={"transcripts": [{"messages": [{"role": "user", "content": WORDS}]}]})
    key.post("/v1/admin/keys", json={"name": WORDS, "scopes": ["chat"]})
    anyone.post("/v1/session", json={"name": WORDS, "password": WORDS})
    anyone.post("/v1/session", json={"name": "root", "password": f"{WORDS}-not-it"})
    anyone.get(f"/{WORDS}", params={WORDS: WORDS})
    anyone.get("/v1/models", headers={"Authorization": f"Bearer csk_{WORDS}", "Cookie": f"circumspect_session={WORDS}"})
    operator.post(f"/v1/escalations/{WORDS}/reply", json={"content": WORDS})
    found = operator.get("/v1/escalations").json()["items"]
    for one in found[:2]:
        operator.post(f"/v1/escalations/{one['id']}/take")
        operator.post(f"/v1/escalations/{one['id']}/reply", json={"content": f"hello, {WORDS}"})
    operator.delete(f"/v1/admin/persons/{WORDS}-nobody", params={"tenant": "shop"})
    return fortress


def test_nothing_that_anybody_said_is_in_the_log(talked: Fortress) -> None:
    lines = [line for line in talked.log().splitlines() if WORDS in line or "4111 1111" in line]
    assert not lines, lines[:3]
    assert WORDS not in talked.said()
    assert any(line["message"] == "turn" for line in talked.lines()), "and yet every turn is there"


def test_the_log_still_says_where_and_how_it_ended(talked: Fortress) -> None:
    route = "/v1/conversations/{conversation_id}/messages"
    line = next(one for one in talked.lines() if one.get("route") == route and one.get("status") == 200)
    assert {"tenant", "turn", "request", "method", "seconds"} <= line.keys()


def test_nothing_that_anybody_said_is_in_the_metrics(talked: Fortress) -> None:
    answer = talked.anyone.get("/metrics", headers={"Authorization": f"Bearer {METRICS}"})
    assert answer.status_code == 200
    assert WORDS not in answer.text


def test_what_went_wrong_is_told_without_repeating_what_was_sent(talked: Fortress) -> None:
    for answer in (
        talked.anyone.get(f"/{WORDS}"),
        talked.key.get(f"/v1/conversations/{WORDS}"),
        talked.key.post("/v1/conversations", json={"id": f"{WORDS} {WORDS}"}),
        talked.anyone.post("/v1/session", json={"name": WORDS, "password": WORDS}),
        talked.anyone.get("/v1/models", headers={"Authorization": f"Bearer {WORDS}"}),
    ):
        assert answer.status_code >= 400
        assert WORDS not in answer.text


def test_secrets_are_nowhere(talked: Fortress) -> None:
    operator = talked.operator
    secrets = (METRICS, talked.token.split("_", 2)[2], talked.session.split("_", 1)[1], SECRET, PASSWORD, "$argon2")
    metrics = talked.anyone.get("/metrics", headers={"Authorization": f"Bearer {METRICS}"}).text
    shown = [talked.log(), metrics]
    for path in ("/openapi.json", "/readyz", "/healthz", "/v1/admin/tenants", "/v1/admin/tenants/shop",
                 "/v1/admin/log", "/v1/admin/keys?tenant=shop", "/v1/session"):  # fmt: skip
        answer = operator.get(path)
        assert answer.status_code == 200, f"{path} {answer.text}"
        shown.append(answer.text)
    for secret in secrets:
        for text in shown:
            assert secret not in text


def test_a_tenants_secret_is_stored_sealed_and_shown_to_nobody(talked: Fortress, tmp_path: Path) -> None:
    hidden = "topaz-lighthouse-secret"
    file = {
        "version": 1,
        "id": "sealed",
        "business": {"name": "Sealed"},
        "secrets": {"hook": {"env": "HOOK"}},
        "notify": {"webhooks": [{"url": "https://hooks.example.com/x", "secret": "hook"}]},
    }
    (tmp_path / "sealed.yaml").write_text(json.dumps(file), "utf-8")

    async def applied() -> tuple[bytes, bytes]:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "circumspect", "apply", str(tmp_path / "sealed.yaml"),
            env={**talked.environment, "HOOK": hidden, "PYTHONPATH": str(ROOT)}, cwd=talked.folder,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        out, err = await process.communicate()
        assert process.returncode == 0, err
        return out, err

    out, err = asyncio.run(applied())
    assert hidden.encode() not in out + err
    shown = talked.operator.get("/v1/admin/tenants/sealed")
    assert shown.status_code == 200
    assert hidden not in shown.text
    for path in talked.folder.glob("fortress.db*"):
        assert hidden.encode() not in path.read_bytes(), path.name
    assert hidden not in talked.log()


def test_the_description_of_the_api_names_no_setting_of_this_server(talked: Fortress) -> None:
    text = json.dumps(create_app().openapi())
    for sign in (str(talked.folder), "sqlite:///", "secret_key", "csk_demo"):
        assert sign not in text
