"""Notifications leave at least once, signed, until somebody acknowledges them; nothing goes where it must not."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import socket
from pathlib import Path

import pytest
from aiosmtpd.controller import Controller
from starlette.requests import Request
from starlette.responses import Response
from tests.server.house import Running
from tests.server.model_server import _lifespan

from circumspect.clock import FixedClock, RandomIds
from circumspect.reasons import ReasonCode
from circumspect.server.apply_tenant import apply_file
from circumspect.server.background import forget_old, take_up_evaluations
from circumspect.server.config import Settings
from circumspect.server.delivery import Courier
from circumspect.server.metrics import read_backlog
from circumspect.server.services import open_services
from circumspect.server.stores import privacy
from circumspect.stores import people, reviews
from circumspect.stores.ledger import ATTEMPTS
from circumspect.stores.notifications import list_notifications, redrive
from circumspect.stores.people import NotThere
from circumspect.values import ConversationId, Escalation, TenantId, TurnId

SECRET = "a secret key for tests only which is long enough"
SHOP = TenantId("shop")


class Receiver:
    """A webhook's other end. Answers with `status`; remembers what came."""

    def __init__(self, status: int = 200) -> None:
        self.status, self.came = status, []

    async def __call__(self, scope, receive, send) -> None:
        if scope["type"] == "lifespan":
            await _lifespan(receive, send)
            return
        request = Request(scope, receive)
        self.came.append((dict(request.headers), await request.body()))
        await Response(status_code=self.status)(scope, receive, send)


@pytest.fixture
def receiver():
    receiver = Receiver()
    with Running(receiver) as running:
        receiver.url = running.url
        yield receiver


@pytest.fixture
def mailbox():
    class Inbox:
        def __init__(self):
            self.messages = []

        async def handle_DATA(self, server, session, envelope):
            self.messages.append(envelope)
            return "250 OK"

    inbox = Inbox()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        inbox.port = free.getsockname()[1]
    controller = Controller(inbox, hostname="127.0.0.1", port=inbox.port)
    controller.start()
    yield inbox
    controller.stop()


@pytest.fixture
async def desk(tmp_path: Path, monkeypatch, clock: FixedClock, receiver, mailbox):
    """A server's insides, without its doors: one tenant that wants to hear of everything."""
    monkeypatch.setenv("HOOK_SECRET", "shared with the receiver")
    (tmp_path / "shop.yaml").write_text(
        f"""
version: 1
id: shop
business: {{name: Shop}}
retention_days: 30
secrets: {{hook: {{env: HOOK_SECRET}}}}
notify:
  webhooks: [{{url: "{receiver.url}/hook", secret: hook}}]
  emails: [{{to: [ops@example.com]}}]
"""
    )
    settings = Settings(
        database=f"sqlite:///{tmp_path}/c.db",
        secret_key=SECRET,
        allow_addresses=("127.0.0.1",),
        smtp_url=f"smtp://127.0.0.1:{mailbox.port}",
        mail_from="agent@example.com",
        public_url="https://desk.example.com",
    )
    async with open_services(settings, clock=clock) as services:
        await apply_file(tmp_path / "shop.yaml", services.store, settings, clock=clock)
        services_ = services
        courier = Courier(
            services.store, services.directory, services.vault, services.settings, services.clock, services.ids
        )
        async with courier:
            yield services_, courier, settings


async def escalate(services, turn="t1", reason=ReasonCode.CRITIQUE_ESCALATED):
    from circumspect.stores.ledger import escalate as write

    def body(connection):
        people.create_conversation(connection, SHOP, ConversationId("c1"), "adaptive", services.clock.now())
        write(
            connection,
            SHOP,
            ConversationId("c1"),
            TurnId(turn),
            Escalation(reason, "<b>I want 50% off</b>"),
            services.clock.now(),
        )

    await services.store.tx(body)


async def rounds(courier, times=3):
    return [await courier.deliver_due() for _ in range(times)]


async def test_an_escalation_reaches_every_receiver_once_and_signed(desk, receiver, mailbox):
    services, courier, _ = desk
    await escalate(services)
    assert await rounds(courier) == [1, 2, 0]
    ((headers, body),) = receiver.came
    event = json.loads(body)
    assert (event["type"], event["tenant"], event["conversation"]) == ("escalation", "shop", "c1")
    assert event["summary"] == "<b>I want 50% off</b>"
    assert event["url"] == "https://desk.example.com/conversations/c1"
    over = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    right = base64.b64encode(hmac.new(b"shared with the receiver", over, hashlib.sha256).digest()).decode()
    assert headers["webhook-signature"] == f"v1,{right}"
    (mail,) = mailbox.messages
    assert mail.rcpt_tos == ["ops@example.com"]
    assert b"A conversation needs a person" in mail.content


async def test_what_is_not_acknowledged_comes_again_under_the_same_id(desk, receiver, clock):
    services, courier, _ = desk
    receiver.status = 503
    await escalate(services)
    await rounds(courier)
    assert len(receiver.came) == 1
    assert await courier.deliver_due() == 0, "not before a while has passed"
    for _ in range(3):
        clock.advance(hours=2)
        await courier.deliver_due()
    receiver.status = 204
    clock.advance(hours=2)
    await courier.deliver_due()
    clock.advance(hours=2)
    assert await courier.deliver_due() == 0
    assert len(receiver.came) == 5
    assert len({headers["webhook-id"] for headers, _ in receiver.came}) == 1


async def test_what_is_given_up_is_told_counted_listed_and_sent_again(desk, receiver, clock, caplog):
    services, courier, _ = desk
    receiver.status = 500
    await escalate(services)
    await rounds(courier)
    for tried in range(1, ATTEMPTS):
        assert len(receiver.came) == tried
        assert "notification given up" not in caplog.text
        clock.advance(hours=2)
        await courier.deliver_due()
    assert caplog.text.count("notification given up") == 1
    clock.advance(days=30)
    assert await courier.deliver_due() == 0

    async def count_dead() -> float:
        backlog = await services.store.tx(read_backlog, clock.now().timestamp())
        return backlog.outbox_dead

    assert await count_dead() == 1
    (dead,) = await services.store.tx(list_notifications, (SHOP,), "dead", None, 10)
    assert (dead.topic, dead.target, dead.attempts) == ("webhook", f"{receiver.url}/hook", ATTEMPTS)
    assert await services.store.tx(list_notifications, ("another",), "dead", None, 10) == []
    with pytest.raises(NotThere):
        await services.store.tx(redrive, ("another",), dead.id)

    receiver.status = 200
    again = await services.store.tx(redrive, (SHOP,), dead.id)
    assert (again.state, again.attempts) == ("pending", 0)
    assert await courier.deliver_due() == 1
    assert len({headers["webhook-id"] for headers, _ in receiver.came}) == 1
    assert await count_dead() == 0
    with pytest.raises(NotThere):
        await services.store.tx(redrive, (SHOP,), dead.id)


async def test_gone_is_taken_at_its_word(desk, receiver, clock):
    services, courier, _ = desk
    receiver.status = 410
    await escalate(services)
    await rounds(courier)
    clock.advance(hours=2)
    assert await courier.deliver_due() == 0


async def test_what_killed_its_courier_is_carried_by_another(desk, receiver, clock):
    services, courier, _ = desk
    await escalate(services)
    await courier.deliver_due()
    taken = await services.store.claim_outbox("a courier that dies now", 60, 10)
    assert len(taken) == 2
    assert await courier.deliver_due() == 0
    clock.advance(minutes=2)
    assert await courier.deliver_due() == 2
    assert len(receiver.came) == 1


async def test_a_private_address_is_never_called_unless_allowed(desk, receiver, clock):
    services, _, settings = desk
    closed = settings.model_copy(update={"allow_addresses": ()})
    strict = Courier(services.store, services.directory, services.vault, closed, clock, RandomIds())
    async with strict:
        await escalate(services)
        await rounds(strict)
    assert receiver.came == []


@pytest.mark.parametrize(
    ("reason", "kind"),
    [(ReasonCode.APPROVAL_REQUIRED, "approval"), (ReasonCode.LOW_CONFIDENCE, "escalation")],
)
async def test_a_receiver_can_tell_what_it_is_about(desk, receiver, reason, kind):
    services, courier, _ = desk
    await escalate(services, reason=reason)
    await rounds(courier)
    assert json.loads(receiver.came[0][1])["type"] == kind


async def test_being_resolved_is_told_only_to_those_who_want_to_know(desk, receiver):
    services, courier, _ = desk
    await escalate(services)
    await rounds(courier)
    await services.store.resolve("esc-t1", by="dora", at=services.clock.now())
    await rounds(courier)
    assert len(receiver.came) == 1


async def test_what_is_older_than_the_tenant_keeps_is_forgotten_with_its_notifications(desk, clock):
    services, courier, _ = desk
    await escalate(services)
    assert await forget_old(services) == 0
    clock.advance(days=31)
    assert await forget_old(services) == 1
    assert await services.store.tx(people.list_conversations, None, None, 10) == []
    assert await services.store.escalations(SHOP) == []
    assert await rounds(courier) == [0, 0, 0]


async def test_while_much_is_forgotten_others_write_in_between(desk, clock):
    """As a turn does, whose time is short: it waits for a few conversations to go, never for all of them."""
    services, _, _ = desk
    for number in range(4 * privacy.FEW):
        await services.store.tx(
            people.create_conversation, SHOP, ConversationId(f"old-{number}"), "adaptive", clock.now()
        )
    clock.advance(days=31)
    left = set()

    async def write() -> None:
        while True:
            left.add(len(await services.store.tx(people.list_conversations, None, None, 1000)))

    writing = asyncio.create_task(write())
    assert await forget_old(services) == 4 * privacy.FEW
    writing.cancel()
    assert left >= {privacy.FEW, 2 * privacy.FEW, 3 * privacy.FEW}


async def test_a_person_can_have_everything_and_can_have_it_deleted(desk, clock):
    services, _, _ = desk
    for person in ("ann", "bob"):
        await services.store.tx(
            people.create_conversation, SHOP, ConversationId(f"of-{person}"), "adaptive", clock.now(), person=person
        )
    told = await services.store.tx(privacy.export_person, SHOP, "ann")
    assert [one["id"] for one in told["conversations"]] == ["of-ann"]
    assert await services.store.tx(privacy.delete_person, TenantId("other"), "ann") == 0
    assert await services.store.tx(privacy.delete_person, SHOP, "ann") == 1
    left = await services.store.tx(people.list_conversations, None, None, 10)
    assert [one.id for one in left] == ["of-bob"]


async def test_a_review_whose_worker_died_is_taken_up_again(desk):
    services, _, _ = desk
    request = {
        "case": {"id": "orphan", "facts": {"claim": {"submitted": "2026-04-05"}, "trip": {"ended": "2026-03-06"}}},
        "criteria": [{"id": "K-1", "text": "The claim was submitted within 60 days after the trip ended."}],
        "documents": [
            {"name": "p.md", "text": "# Claims\n\nA claim shall be submitted within 60 days after the trip ended.\n"}
        ],
    }
    now = services.clock.now().timestamp()
    await services.store.tx(
        reviews.create, tenant=SHOP, id="eval_orphan", case_id="orphan", controller="heuristic", total=1,
        request=request, at=now - 900,
    )  # fmt: skip
    assert await services.store.tx(reviews.claim, SHOP, "eval_orphan", "dead", -600.0)
    assert await take_up_evaluations(services) == 1
    for _ in range(200):
        found = await services.store.tx(reviews.get, None, "eval_orphan")
        if found is not None and found.state == "done":
            break
        await asyncio.sleep(0.02)
    assert found is not None
    assert (found.state, found.done) == ("done", 1)
    assert await take_up_evaluations(services) == 0
