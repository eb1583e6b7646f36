"""A lead, and what a CRM has to do. A lead is known by its e-mail address, compared without case.

`save` writes the given fields and leaves the others; it makes the lead if there is none. `Lead.has` tells afterwards
whether a save that was interrupted took place.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Literal, Protocol

from circumspect.values import Json

LeadStatus = Literal["new", "contacted", "qualified", "unqualified", "customer"]
FIELDS = ("name", "company", "phone", "status", "note")


@dataclass(frozen=True, slots=True)
class Lead:
    email: str
    name: str = ""
    company: str = ""
    phone: str = ""
    status: str = "new"
    note: str = ""
    id: str = ""

    def to_json(self) -> dict[str, Json]:
        return {name: value for name, value in asdict(self).items() if value}

    def has(self, changes: Mapping[str, str]) -> bool:
        return all(getattr(self, name) == value for name, value in changes.items())


class Crm(Protocol):
    async def find(self, email: str) -> Lead | None: ...

    async def save(self, email: str, changes: Mapping[str, str], key: str) -> Lead: ...
