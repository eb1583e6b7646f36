"""A tenant at home: a database with the sample shop in it, its setup, and what overlays name."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from circumspect.clock import RandomIds, SystemClock
from circumspect.demo.samples.apply_samples import apply_samples
from circumspect.prompts import make_prompt_version
from circumspect.server.config import Settings
from circumspect.server.directory import Directory
from circumspect.server.experiment_resources import StoredResources
from circumspect.server.vault import open_vault
from circumspect.setup import TurnSetup
from circumspect.stores import SqlStore, prompts
from circumspect.stores.prompts import Use
from circumspect.values import ConversationId, Incoming, TenantId, TurnId

SHOP = TenantId("shop")
NOTHING: dict[str, object] = {}
SECRET = "a secret key for tests only which is long enough"


@dataclass
class Home:
    store: SqlStore
    setup: TurnSetup
    resources: StoredResources
    folder: Path

    async def add_prompt(self, name: str, text: str) -> str:
        made = make_prompt_version(name, text)
        await self.store.tx(prompts.put, SHOP, made.id, name, made.text, at=datetime.now(UTC))
        return made.id

    async def uses(self, id_: str) -> Sequence[Use]:
        return await self.store.tx(prompts.uses, SHOP, id_)


@asynccontextmanager
async def at_home(folder: Path) -> AsyncIterator[Home]:
    settings = Settings(database=f"sqlite:///{folder}/home.db", secret_key=SECRET)
    store = await SqlStore.open(settings.database)
    await apply_samples(store, settings)
    directory = Directory(store, settings, open_vault(settings), SystemClock(), RandomIds())
    resources = StoredResources(store)
    try:
        yield Home(store, await directory.setup(SHOP), resources, folder)
    finally:
        await resources.close()
        await directory.close()
        await store.close()


def incoming(text: str, turn: str = "t1", conversation: str = "c1", at: datetime | None = None) -> Incoming:
    return Incoming(SHOP, ConversationId(conversation), TurnId(turn), text, at or datetime.now(UTC))
