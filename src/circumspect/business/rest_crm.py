"""HttpCrm: any CRM with an HTTP and JSON interface, as a `RestCrm` definition describes it.

A lead is looked for by its e-mail address, then changed or made. Of several leads found, the one with exactly that
address is meant; two of them are an error, because changing the wrong one cannot be seen from here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from circumspect.business.crm import FIELDS, Lead
from circumspect.business.http_session import after_the_change, client, send
from circumspect.business.settings import RestCrm
from circumspect.errors import ToolError, ToolTimeout

if TYPE_CHECKING:
    import httpx2

_WHAT = "CRM"


class HttpCrm:
    def __init__(self, settings: RestCrm) -> None:
        self._settings = settings

    async def find(self, email: str) -> Lead | None:
        async with self._http() as http:
            return await self._find(http, email)

    async def save(self, email: str, changes: Mapping[str, str], key: str) -> Lead:
        settings = self._settings
        async with self._http() as http:
            lead = await self._find(http, email)
            template = settings.update if lead else settings.create
            method, _, path = template.partition(" ")
            body = {self._theirs(name): value for name, value in changes.items()}
            if lead is None:
                body[self._theirs("email")] = email
            headers = {settings.idempotency_header: key} if settings.idempotency_header else {}
            url = self._url(path, email, lead.id if lead else "")
            await send(http, _WHAT, method, url, json=body, headers=headers)
            with after_the_change(_WHAT):
                after = await self._find(http, email)
        if after is None:
            raise ToolTimeout("The CRM took the change, and the lead is not there; it is not known what it did.")
        return after

    def _http(self) -> httpx2.AsyncClient:
        settings = self._settings
        return client(settings.timeout, settings.allow, headers={"accept": "application/json", **settings.headers})

    def _url(self, path: str, email: str, identifier: str) -> str:
        filled = path.replace("{email}", quote(email, safe="")).replace("{id}", quote(identifier, safe=""))
        return self._settings.base_url.rstrip("/") + filled

    def _theirs(self, name: str) -> str:
        return self._settings.fields.get(name, name)

    async def _find(self, http: httpx2.AsyncClient, email: str) -> Lead | None:
        answer = await send(http, _WHAT, "GET", self._url(self._settings.find, email, ""), accept=(404,))
        if answer.status_code == 404:
            return None
        try:
            body = answer.json()
        except ValueError:
            raise ToolError("The CRM's answer is no JSON; nothing was changed.") from None
        leads = [self._lead(item) for item in self._items(body)]
        ours = [lead for lead in leads if lead.email.casefold() == email.casefold()]
        if len(ours) > 1:
            raise ToolError("The CRM has several leads with that address.", fix="Merge them, or ask a colleague.")
        return ours[0] if ours else None

    def _items(self, body: Any) -> list[dict[str, Any]]:
        for name in filter(None, self._settings.results.split(".")):
            body = body.get(name) if isinstance(body, dict) else None
        items = body if isinstance(body, list) else [body] if isinstance(body, dict) else None
        if items is None or not all(isinstance(item, dict) for item in items):
            raise ToolError("The CRM's answer holds no leads where they should be.", fix="Check `results`.")
        return items

    def _lead(self, item: Mapping[str, Any]) -> Lead:
        values = {name: _text(item.get(self._theirs(name))) for name in ("email", *FIELDS)}
        return Lead(**values, id=_text(item.get(self._settings.id_field)))


def _text(value: object) -> str:
    return "" if value is None else str(value)
