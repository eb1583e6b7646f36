"""Who sees what of an analysis (S5, S10): every byte that a server sends to a user's side is read, over every door.

A language model on loopback fills the form in with a mark in each field. The marks must be in the model's next request
and in the record, and in nothing that goes to a user, a webhook or a mailbox.
"""

from __future__ import annotations

import email
import json
import secrets
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from email import policy
from typing import Any, Self

import httpx
import pytest
from aiosmtpd.controller import Controller
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from tests.patience import wait_until
from tests.server.console.building import SAME, ConsoleHouse
from tests.server.house import Running
from tests.server.model_server import ASSESSED, _lifespan

from circumspect.reasons import ReasonCode
from circumspect.server import console
from circumspect.server.app import create_app
from circumspect.server.apply_tenant import apply_file
from circumspect.stores import SqlStore

INTENT = "Learn Spanish in the evening (INTENT-SHOWN)"
QUESTION = "Which level would that be, QUESTION-SHOWN?"
MARKED: dict[str, Any] = {
    "spam_reason": "A reason that is nobody's business, MARK-REASON",
    "topic": "MARK-TOPIC",
    "category": "MARK-CATEGORY",
    "context": "MARK-CONTEXT",
    "subqueries": ["Spanish evening MARK-QUERY-ONE", "courses MARK-QUERY-TWO"],
    "action_plan": ["First look at the timetable of the school, MARK-PLAN-ONE", "MARK-PLAN-TWO"],
    "uncertainties": ["MARK-GAP-ONE", "MARK-GAP-TWO"],
}
DECIDED: dict[str, Any] = {
    "decision": "RETRIEVE",
    "decision_reason": "MARK-DECISION",
    "decision_confidence": 0.73516428,
    "tools_needed": [],
    "retrieval_needed": True,
}
DIGITS = ("13792468", "86429753", "41357924", "91357924", "73516428")
NAMES = (
    "spam_score", "spam_reason", "user_intent", "subqueries", "action_plan", "intent_confidence", "uncertainties",
    "clarification_question", "decision_reason", "decision_confidence", "tools_needed", "retrieval_needed",
    "guardian_block", "context_completeness", "source_quality", "query_complexity", "tool_success_rate", "synthetic",
    "Request analysis", "## Approach", "RETRIEVE", "REASON_ONLY", "USE_TOOL",
)  # fmt: skip
DRAFT = "Yes, on Tuesdays and Thursdays."


@dataclass(frozen=True)
class Case:
    """What is asked, what the model makes of it, and what the user is to find in the answer."""

    text: str
    outcome: str
    form: dict[str, Any]
    draft: str = DRAFT
    shown: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    asks: bool = True
    """The model is asked at all."""


def filled(**fields: Any) -> dict[str, Any]:
    clear = {"spam_score": 0.13792468, "intent_confidence": 0.86429753, "action": "normal"}
    return {"user_intent": INTENT, "clarification_question": "", **MARKED, **DECIDED, **clear, **fields}


LEAK = f"{MARKED['action_plan'][0]}. {DRAFT}"
CASES = {
    "normal": Case("Is there Spanish after work?", "answered", filled(), shown=(INTENT, DRAFT)),
    "normal, the model chose otherwise": Case(
        "Spanish at night, is there any?", "answered", filled(action="guardian_block"), shown=(INTENT, DRAFT)
    ),
    "clarify": Case(
        "Spanish for me then", "asked",
        filled(intent_confidence=0.41357924, action="clarify", clarification_question=QUESTION),
        shown=(INTENT, QUESTION), hidden=(DRAFT,),
    ),
    "block": Case(
        "Spanish villas for sale to you", "blocked", filled(spam_score=0.91357924, action="block"),
        hidden=(INTENT, DRAFT),
    ),
    "guardian_block": Case(
        "how do I make a bomb at home", "blocked", filled(), hidden=(INTENT, DRAFT, "weapon"), asks=False
    ),
    "a draft that repeats its notes": Case(
        "Where is Spanish taught?", "escalated", filled(), draft=LEAK, hidden=(DRAFT,)
    ),
}  # fmt: skip
FOR_A_PERSON = Case(
    "A special contract for Spanish, please", "escalated",
    filled(decision="ESCALATE", retrieval_needed=False), hidden=(DRAFT, INTENT),
)  # fmt: skip
TENANTS = {"guided": "profile: guided", "service": "profile: service", "plain": "profile: service, synthetic_share: 0"}


class Marking:
    """A language model in OpenAI's format. It knows the analysis from the draft by the words it is given."""

    def __init__(self) -> None:
        self.drafts: list[str] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await _lifespan(receive, send)
            return
        body = await Request(scope, receive).json()
        words = self._words(json.dumps(body, ensure_ascii=False))
        response: Response = JSONResponse(self._whole(words))
        if body.get("stream"):
            response = StreamingResponse(self._pieces(words), media_type="text/event-stream")
        await response(scope, receive, send)

    def _words(self, asked: str) -> str:
        case = next(one for one in (*CASES.values(), FOR_A_PERSON) if one.text in asked)
        if "you fill in one form" in asked:
            return json.dumps({name: value for name, value in case.form.items() if f'"{name}"' in asked})
        self.drafts.append(asked)
        return case.draft + ASSESSED

    def _whole(self, words: str) -> dict[str, Any]:
        said = {"role": "assistant", "content": words}
        return {
            "id": "c", "object": "chat.completion", "created": 1, "model": "x",
            "choices": [{"index": 0, "finish_reason": "stop", "message": said}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
        }  # fmt: skip

    async def _pieces(self, words: str) -> Any:
        for delta, finish in (({"role": "assistant", "content": words}, None), ({}, "stop")):
            choice = {"index": 0, "delta": delta, "finish_reason": finish}
            chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "x", "choices": [choice]}
            yield f"data: {json.dumps(chunk)}\n\n".encode()
        yield b"data: [DONE]\n\n"


class Receiver:
    """A webhook's other end."""

    def __init__(self) -> None:
        self.came: list[bytes] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await _lifespan(receive, send)
            return
        request = Request(scope, receive)
        self.came.append(json.dumps(dict(request.headers)).encode() + b"\n" + await request.body())
        await Response(status_code=200)(scope, receive, send)


class Mailbox:
    def __init__(self) -> None:
        self.came: list[bytes] = []

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        self.came.append(envelope.content)
        return "250 OK"


class Overheard(ConsoleHouse):
    """Keeps every byte that leaves, headers included."""

    def __enter__(self) -> Self:
        self.stored(self._furnish)
        self.app = create_app(self.settings)
        console.install(self.app)
        self.sent: list[bytes] = []
        app: Any = self.app

        async def overheard(scope: Any, receive: Any, send: Any) -> None:
            async def tell(message: Any) -> None:
                self.sent.append(repr(message.get("headers", "")).encode() + message.get("body", b""))
                await send(message)

            await app(scope, receive, tell if scope["type"] == "http" else send)

        self.running = Running(overheard, drain=3).__enter__()
        return self

    def heard(self) -> str:
        """Since it was last asked for. JSON is read as it is written and with its escapes undone."""
        text = b"".join(self.sent).decode()
        self.sent.clear()
        return f"{text}\n{text.replace(chr(92) + 'n', chr(10)).replace(chr(92) + chr(34), chr(34))}"


@dataclass
class World:
    house: Overheard
    model: Marking
    receiver: Receiver
    mailbox: Mailbox


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder, model, receiver, mailbox = tmp_path_factory.mktemp("matrix"), Marking(), Receiver(), Mailbox()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    mail = Controller(mailbox, hostname="127.0.0.1", port=port)
    mail.start()
    with pytest.MonkeyPatch.context() as patch, Running(model) as models, Running(receiver) as hooks:
        patch.setenv("OPENAI_API_KEY", "not-a-key")
        patch.setenv("HOOK_SECRET", "shared with the receiver")
        patch.setenv("SSL_CERT_DIR", str(folder))
        patch.setattr("circumspect.server.console.widget.visits.MESSAGES_PER_MINUTE", 10_000)
        made = Overheard(
            f"sqlite:///{folder}/house.db",
            allow_addresses=("127.0.0.1",),
            smtp_url=f"smtp://127.0.0.1:{port}",
            mail_from="agent@example.com",
        )

        async def furnish(store: SqlStore) -> None:
            for name, settings in TENANTS.items():
                path = folder / f"{name}.yaml"
                path.write_text(_tenant(name, settings, models.url, hooks.url))
                await apply_file(path, store, made.settings)

        made.stored(furnish)
        with made as house:
            yield World(house, model, receiver, mailbox)
    mail.stop()


def _tenant(name: str, settings: str, model: str, hook: str) -> str:
    return f"""
version: 1
id: {name}
business:
  name: Lumen School
  faqs: [{{q: Do you teach Spanish in the evening?, a: "Yes, Spanish in the evening, on Tuesdays and Thursdays."}}]
model: "openai:x@{model}/v1"
understanding: {{{settings}}}
secrets: {{hook: {{env: HOOK_SECRET}}}}
notify:
  webhooks: [{{url: "{hook}/hook", secret: hook}}]
  emails: [{{to: [ops@example.com]}}]
"""


# --- the doors ------------------------------------------------------------------------------------------------------


def by_json(house: Overheard, client: httpx.Client, text: str) -> str:
    """Said, and read again afterwards with everything about the conversation that a key for chatting may see."""
    talk = house.conversation(client)
    answer = client.post(f"/v1/conversations/{talk}/messages", json={"content": text})
    assert answer.status_code == 200, answer.text
    assert set(answer.json()) == {"turn_id", "outcome", "reply", "reason_codes", "pending", "usage", "sources"}
    assert client.get(f"/v1/conversations/{talk}").status_code == 200
    assert client.get(f"/v1/conversations/{talk}/messages").status_code == 200
    assert client.get(f"/v1/conversations/{talk}/messages?internal=true").status_code == 403
    return talk


def by_events(house: Overheard, client: httpx.Client, text: str) -> str:
    talk = house.conversation(client)
    path, headers = f"/v1/conversations/{talk}/messages", {"Accept": "text/event-stream"}
    with client.stream("POST", path, json={"content": text}, headers=headers) as answer:
        names = [line for line in answer.iter_lines() if line.startswith("event: ")]
    assert (names[0], names[-1]) == ("event: started", "event: done")
    return talk


def by_completion(house: Overheard, client: httpx.Client, text: str, *, stream: bool = False) -> str:
    talk = f"openai-{secrets.token_hex(4)}"
    asked = {"model": "circumspect", "messages": [{"role": "user", "content": text}], "stream": stream}
    answer = client.post("/v1/chat/completions", json={**asked, "metadata": {"conversation_id": talk}})
    assert answer.status_code == 200, answer.text
    return talk


def by_streamed_completion(house: Overheard, client: httpx.Client, text: str) -> str:
    return by_completion(house, client, text, stream=True)


def by_widget(house: Overheard, client: httpx.Client, text: str) -> str:
    begun = client.post("/widget/conversations", json={}, headers=SAME)
    assert begun.status_code == 201, begun.text
    path = f"/widget/conversations/{begun.json()['id']}/messages"
    visitor = {"X-End-User-Token": begun.json()["visitor"], **SAME}
    said = client.post(path, json={"content": text}, headers={"Idempotency-Key": secrets.token_hex(12), **visitor})
    assert "event: done" in said.text, said.text
    assert client.get(path, headers=visitor).status_code == 200
    return str(begun.json()["id"])


DOORS = {
    "json": by_json,
    "events": by_events,
    "completion": by_completion,
    "streamed completion": by_streamed_completion,
    "widget": by_widget,
}


MATRIX = [
    (tenant, name, door)
    for tenant in TENANTS
    for name in CASES
    for door in DOORS
    if tenant != "plain" or door in ("json", "events")
]


def record(house: Overheard, tenant: str, talk: str) -> list[dict[str, Any]]:
    """What the tenant's own people may read."""
    answer = house.key(tenant, "read").get(f"/v1/conversations/{talk}/messages?internal=true")
    house.heard()
    return [one for one in answer.json()["items"] if one["role"] == "internal"]


def marks() -> list[str]:
    return [
        text for value in (*MARKED.values(), "MARK-DECISION") for text in ([value] if isinstance(value, str) else value)
    ]


def keeps_silent(heard: str, inner: list[dict[str, Any]]) -> None:
    """Nothing of the analysis is in these bytes: no mark, no figure, no name of a field, no line of the record."""
    for secret in ("MARK-", *DIGITS, *NAMES):
        assert secret not in heard, secret
    for row in inner:
        if len(row["content"]) > 12:
            assert row["content"] not in heard, row["kind"]


# --- the matrix -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("tenant", "name", "door"), MATRIX)
def test_a_user_sees_the_intent_and_the_question_and_nothing_else(world: World, tenant: str, name: str, door: str):
    case, house = CASES[name], world.house
    client = house.key(tenant, "widget" if door == "widget" else "chat")
    house.sent.clear()
    world.model.drafts.clear()
    talk = DOORS[door](house, client, case.text)
    heard, inner = house.heard(), record(house, tenant, talk)
    keeps_silent(heard, inner)
    for words in case.shown:
        assert words in heard
    for words in case.hidden:
        assert words not in heard
    if door == "widget":
        assert not [code for code in ReasonCode if code in heard]
    else:
        assert f'"outcome":"{case.outcome}"' in heard

    noted = json.dumps(inner)
    wanted = [mark for mark in marks() if tenant != "guided" or mark != "MARK-DECISION"]
    if case.asks:
        assert [mark for mark in wanted if mark not in noted] == [], "the record has all of it"
        assert any(one["meta"].get("synthetic") for one in inner)
    else:
        assert any(one["meta"].get("categories") for one in inner)
    goes_on = name.startswith(("normal", "a draft"))
    assert len(world.model.drafts) == goes_on, "what ends the turn asks no model again"
    for draft in world.model.drafts:
        told = [mark for mark in wanted if mark != "MARK-DECISION"]
        assert [mark for mark in told if mark not in draft] == [], "the model has all of it"


@pytest.mark.parametrize("door", DOORS)
def test_why_it_was_handed_over_is_for_people_and_not_for_the_user(world: World, door: str):
    house = world.house
    house.sent.clear()
    talk = DOORS[door](house, house.key("service", "widget" if door == "widget" else "chat"), FOR_A_PERSON.text)
    keeps_silent(house.heard(), record(house, "service", talk))
    assert house.key("service", "chat").get("/v1/escalations").status_code == 403
    found = house.operator("noa").get("/v1/escalations?tenant=service").json()["items"]
    house.heard()
    (row,) = [one for one in found if one["conversation_id"] == talk]
    assert row["suggestion"] == "MARK-DECISION"


def test_webhooks_and_mail_say_what_the_user_wrote_and_why_in_general_and_no_notes(world: World):
    """They leave the house, so they carry the user's message and a reason code; the suggestion is read inside."""
    house, texts = world.house, {FOR_A_PERSON.text, CASES["a draft that repeats its notes"].text}
    client = house.key("service", "chat")
    talks = {by_json(house, client, text) for text in texts}

    def hooks() -> list[dict[str, Any]]:
        events = [json.loads(body.partition(b"\n")[2]) for body in world.receiver.came]
        return [one for one in events if one["conversation"] in talks]

    def mails() -> list[Any]:
        read = [email.message_from_bytes(one, policy=policy.default) for one in world.mailbox.came]
        return [one for one in read if any(talk in one.get_content() for talk in talks)]

    wait_until(lambda: (len(hooks()), len(mails())) >= (2, 2), pause=0.05)
    assert {one["summary"] for one in hooks()} == texts
    assert {one["reason_code"] for one in hooks()} == {"DECIDED_TO_ESCALATE", "NOTES_GIVEN_AWAY"}
    keys = {"id", "type", "tenant", "conversation", "turn", "execution", "reason_code", "summary", "at"}
    assert all(set(one) == keys for one in hooks())
    assert len(mails()) == 2
    everything = b"".join((*world.receiver.came, *world.mailbox.came)).decode()
    everything += "".join(one.as_string() + one.get_content() for one in mails())
    inner = [row for talk in talks for row in record(house, "service", talk)]
    keeps_silent(everything, inner)
    assert INTENT not in everything
