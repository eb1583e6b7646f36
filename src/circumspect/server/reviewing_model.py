"""A tenant's setup -> the model that reviews its cases, if it has one.

The offline demo model chats; it reviews nothing.
"""

from __future__ import annotations

from circumspect.models.opening import OFFLINE
from circumspect.ports import Model
from circumspect.setup import TurnSetup


def pick_reviewing_model(setup: TurnSetup) -> Model | None:
    model = setup.ports.model
    return None if model.name == OFFLINE else model
