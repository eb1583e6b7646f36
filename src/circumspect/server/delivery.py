"""Delivery: the outbox -> webhooks and e-mail, at least once each, signed, again and again until it is acknowledged.

A notification names no receiver when it is written, since that happens in the transaction of a turn. Here it becomes
one row for each of the tenant's receivers, in one transaction, and each of those is tried by itself. Webhooks are
signed as Standard Webhooks has it (`webhook-id`, `webhook-timestamp`, `webhook-signature`), so a receiver can check
them with a library; the id stays the same when one comes twice. Anything but a 2xx is tried again later; 410 Gone is
taken at its word.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import logging
import smtplib
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from email.message import EmailMessage
from typing import Any
from urllib.parse import unquote, urlsplit

import sqlalchemy as sa

from circumspect import outgoing
from circumspect.errors import CircumspectError, StoreError
from circumspect.language import catalogue
from circumspect.ports import Clock, Ids, OutboxItem
from circumspect.reasons import ReasonCode
from circumspect.server.config import Settings
from circumspect.server.directory import Directory
from circumspect.server.tenants.tenant_file import EmailSection, TenantSettings, WebhookSection
from circumspect.server.vault import Vault
from circumspect.stores import SqlStore, codec, ledger
from circumspect.stores.codec import dumps, moment
from circumspect.values import ConversationId, Json, Language, TenantId

log = logging.getLogger(__name__)

LEASE_SECONDS = 60.0
TIMEOUT_SECONDS = 10.0
AT_ONCE = 20


class Courier:
    """Carries what is due. Any number of them may run: the store's leases keep them apart."""

    def __init__(
        self, store: SqlStore, directory: Directory, vault: Vault, settings: Settings, clock: Clock, ids: Ids
    ) -> None:
        self._store, self._directory, self._vault, self._settings = store, directory, vault, settings
        self._clock, self._ids = clock, ids
        self._opened = AsyncExitStack()
        self._http = outgoing.client(allow=settings.allow_addresses, timeout=TIMEOUT_SECONDS, max_bytes=100_000)

    async def __aenter__(self) -> Courier:
        await self._opened.enter_async_context(self._http)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._opened.aclose()

    async def deliver_due(self) -> int:
        """One round; how many items there were."""
        token = self._ids.new("courier")
        items = await self._store.claim_outbox(token, LEASE_SECONDS, AT_ONCE)
        await asyncio.gather(*(self._deliver(item) for item in items))
        return len(items)

    async def _deliver(self, item: OutboxItem) -> None:
        try:
            match item.topic:
                case "webhook":
                    delivered = await self._post(item)
                case "mail":
                    delivered = await self._mail(item)
                case _:
                    await self._address(item)
                    return
        except CircumspectError as problem:
            log.warning("not delivered", extra={"problem": problem.code, "tenant": item.payload.get("tenant")})
            delivered = False
        except Exception:
            log.exception("not delivered", extra={"tenant": item.payload.get("tenant")})
            delivered = False
        try:
            await self._store.settle_outbox(item, delivered=delivered)
        except StoreError as problem:
            log.warning("delivery not recorded", extra={"problem": problem.code})
        if not delivered and item.attempts + 1 >= ledger.ATTEMPTS:
            log.error("notification given up", extra={"tenant": item.payload.get("tenant"), "problem": item.id})

    # --- to whom ----------------------------------------------------------------------------------------------------

    async def _address(self, item: OutboxItem) -> None:
        """One item a receiver. A tenant that is gone has none."""
        tenant = TenantId(str(item.payload["tenant"]))
        try:
            wanted = await self._directory.settings(tenant)
        except CircumspectError as problem:
            log.warning("no receivers known", extra={"tenant": tenant, "problem": problem.code})
            await self._store.settle_outbox(item, delivered=problem.code == "unknown_tenant")
            return
        event = _event(item, self._settings.public_url)
        await self._store.tx(_hand_on, item, _receivers(event, wanted))

    # --- webhooks ---------------------------------------------------------------------------------------------------

    async def _post(self, item: OutboxItem) -> bool:
        target, event = _parts(item)
        body = dumps(event).encode()
        known = await self._vault.secrets_of(self._store, TenantId(str(event["tenant"])))
        secret = known.get(str(target["secret"]))
        if secret is None:
            log.warning("webhook secret missing", extra={"tenant": event["tenant"]})
            return False
        headers = build_webhook_headers(secret, item.id, int(self._clock.now().timestamp()), body)
        answer = await self._http.post(
            str(target["url"]), content=body, headers={"content-type": "application/json", **headers}
        )
        if answer.is_success:
            return True
        log.warning("webhook refused", extra={"tenant": event["tenant"], "problem": str(answer.status_code)})
        return answer.status_code == 410

    # --- e-mail -----------------------------------------------------------------------------------------------------

    async def _mail(self, item: OutboxItem) -> bool:
        if self._settings.smtp_url is None:
            log.warning("no mail server configured", extra={"tenant": item.payload.get("tenant")})
            return False
        target, event = _parts(item)
        tenant = await self._store.get_tenant(TenantId(str(event["tenant"])))
        language: Language = tenant.language if tenant else "en"
        sender = self._settings.mail_from or "circumspect@localhost"
        message = mail(event, target["to"], sender, language, item.id)
        await asyncio.to_thread(_send, self._settings.smtp_url.get_secret_value(), message)
        return True


def build_webhook_headers(secret: str, id_: str, at: int, body: bytes) -> Mapping[str, str]:
    """The headers of Standard Webhooks. A secret written `whsec_…` is base64, as its libraries have it."""
    key = base64.b64decode(secret.removeprefix("whsec_")) if secret.startswith("whsec_") else secret.encode()
    over = f"{id_}.{at}.".encode() + body
    signature = base64.b64encode(hmac.new(key, over, hashlib.sha256).digest()).decode()
    return {"webhook-id": id_, "webhook-timestamp": str(at), "webhook-signature": f"v1,{signature}"}


def mail(event: Mapping[str, Json], to: Any, sender: str, language: Language, id_: str) -> EmailMessage:
    """Plain text: what a user wrote is in it. The id makes a second copy recognisable."""
    what = catalogue.say(language, f"notify-{event['type']}")
    code = codec.reason(str(event["reason_code"]))
    body = catalogue.say(
        language,
        "notify-body",
        what=what,
        tenant=str(event["tenant"]),
        why=catalogue.meaning(code, language) if code else str(event["reason_code"]),
        summary=str(event["summary"]),
        conversation=str(event.get("url") or event["conversation"]),
    )
    message = EmailMessage()
    message["Subject"] = f"{what} [{_one_line(event['tenant'])}]"
    message["From"] = sender
    message["To"] = ", ".join(str(address) for address in to)
    message["Message-ID"] = f"<{hashlib.sha256(id_.encode()).hexdigest()[:32]}@circumspect>"
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(body)
    return message


def _one_line(value: Json) -> str:
    return " ".join(str(value).split())


def _send(url: str, message: EmailMessage) -> None:
    parts = urlsplit(url)
    host = parts.hostname or "localhost"
    kind = smtplib.SMTP_SSL if parts.scheme == "smtps" else smtplib.SMTP
    with kind(host, parts.port or (465 if parts.scheme == "smtps" else 587), timeout=TIMEOUT_SECONDS) as server:
        if parts.scheme == "smtp" and server.has_extn("starttls"):
            server.starttls()
        if parts.username:
            server.login(unquote(parts.username), unquote(parts.password or ""))
        server.send_message(message)


# --- what is said, and to whom --------------------------------------------------------------------------------------


def _event(item: OutboxItem, public_url: str | None) -> dict[str, Json]:
    row = item.payload
    at = row.get("created_at")
    event: dict[str, Json] = {
        "id": item.id,
        "type": _type(item),
        "tenant": row["tenant"],
        "conversation": row["conversation"],
        "turn": row.get("turn"),
        "execution": row.get("execution"),
        "reason_code": row["reason_code"],
        "summary": row["summary"],
        "at": moment(float(at)).isoformat() if isinstance(at, int | float) else None,
    }
    if public_url:
        event["url"] = f"{public_url.rstrip('/')}/conversations/{row['conversation']}"
    return event


def _type(item: OutboxItem) -> str:
    if item.topic != "escalation":
        return item.topic
    if item.payload.get("execution"):
        return "indeterminate"
    return "approval" if item.payload["reason_code"] == ReasonCode.APPROVAL_REQUIRED else "escalation"


def _receivers(event: Mapping[str, Json], wanted: TenantSettings) -> Sequence[tuple[str, Mapping[str, Json]]]:
    found: list[tuple[str, Mapping[str, Json]]] = []
    sections: tuple[WebhookSection | EmailSection, ...] = (*wanted.notify.webhooks, *wanted.notify.emails)
    for section in sections:
        if event["type"] not in section.topics:
            continue
        if isinstance(section, WebhookSection):
            found.append(("webhook", {"url": section.url, "secret": section.secret}))
        else:
            found.append(("mail", {"to": list(section.to)}))
    return [(topic, {"tenant": event["tenant"], "target": target, "event": event}) for topic, target in found]


def _hand_on(connection: sa.Connection, item: OutboxItem, receivers: Sequence[tuple[str, Mapping[str, Json]]]) -> None:
    about = TenantId(str(item.payload["tenant"])), ConversationId(str(item.payload["conversation"]))
    for number, (topic, payload) in enumerate(receivers):
        ledger.notify(connection, f"{item.id}:{number}", topic, payload, *about)
    ledger.settle_outbox(connection, item, delivered=True)


def _parts(item: OutboxItem) -> tuple[Mapping[str, Any], Mapping[str, Json]]:
    target, event = item.payload["target"], item.payload["event"]
    assert isinstance(target, Mapping)
    assert isinstance(event, Mapping)
    return target, event
