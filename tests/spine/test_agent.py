"""`Agent`: a wrong setting is told when it is made, and not in somebody's turn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from circumspect import Agent, Business, Plan, Tenant, tool
from circumspect.errors import ConfigError
from circumspect.values import Allow, TenantId


@tool(effect="destructive")
def cancel_order(order_id: str) -> str:
    """Cancel an order."""
    return f"Order {order_id} is cancelled."


def always(facts: object) -> Allow:
    """It is always fine."""
    return Allow()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"mode": "fast"}, "no mode 'fast'"),
        ({"tenant": Tenant(TenantId("s"), Business("s"), Plan("pro", "fast"))}, "no mode 'fast'"),  # type: ignore[arg-type]
        ({"language": "fr"}, "no language 'fr'"),
        ({"understanding": "deep"}, "no understanding 'deep'"),
        ({"tools": cancel_order}, "is not a list of tools"),
        ({"rules": [always]}, "always is not a rule"),
        ({"tenant": ""}, "no id"),
    ],
)
def test_a_wrong_setting_is_told_when_the_agent_is_made(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said) as told:
        Agent(**{"tenant": "support", "tools": [cancel_order], **settings})
    assert told.value.fix


async def test_a_path_is_a_database_and_what_is_no_message_is_told(tmp_path: Path) -> None:
    async with Agent("support", tools=[cancel_order], database=tmp_path / "below" / "support.db") as agent:
        assert (await agent.turn("cancel order 12345")).outcome == "asked"
        with pytest.raises(ConfigError, match="no language 'fr'"):
            await agent.turn("hello", language="fr")  # type: ignore[arg-type]
        with pytest.raises(ConfigError, match="are texts"):
            await agent.turn(None)  # type: ignore[arg-type]
    assert (tmp_path / "below" / "support.db").is_file()
