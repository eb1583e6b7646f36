"""The sample shops as tenants of a server, for a demo."""

from __future__ import annotations

from circumspect.demo import samples
from circumspect.demo.samples.sample_files import DIRECTORY
from circumspect.ports import Clock
from circumspect.server.apply_tenant import Applied, apply_file
from circumspect.server.config import Settings
from circumspect.server.stores import tenants
from circumspect.stores import SqlStore


async def apply_samples(store: SqlStore, settings: Settings, *, clock: Clock | None = None) -> tuple[Applied, ...]:
    """The sample shops, for a demo. One that was applied before stays as it is now, changes by hand included."""
    served = await store.tx(tenants.revisions)
    missing = [name for name in samples.names() if name not in served]
    return tuple(
        [await apply_file(DIRECTORY / f"{name}.yaml", store, settings, by="demo", clock=clock) for name in missing]
    )
