"""End users: who speaks in a conversation, as a tenant's program says it."""

from __future__ import annotations

from dataclasses import dataclass, field

from circumspect.values import JsonObject, name_principal


@dataclass(frozen=True, slots=True)
class EndUser:
    """Whose words these are. Without a `person` they are of the one unnamed person of their conversation."""

    person: str | None = None
    """The tenant's own id of them."""
    claims: JsonObject = field(default_factory=dict)
    """What a signed token says of them beside that."""

    @property
    def principal(self) -> str:
        return name_principal(self.person)
