"""A folder with files, a database beside them, and `apply`: what a person has before them."""

from __future__ import annotations

import textwrap
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from circumspect.clock import FixedClock
from circumspect.server.apply_tenant import Applied, apply_file
from circumspect.server.config import Settings
from circumspect.server.tenants.read_tenant_file import TenantFileReading, read
from circumspect.stores import SqlStore

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def written(text: str, name: str = "tenant.yaml") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), "utf-8")
        return path

    return written


@pytest.fixture
def reading(write: Write) -> Callable[[str], TenantFileReading]:
    return lambda text: read(write(text))


@pytest.fixture
def module(write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Write a Python module where it can be imported; what it is called. Each has a name of its own: Python keeps
    modules for good."""
    monkeypatch.syspath_prepend(tmp_path)

    def made(text: str) -> str:
        name = f"made_{abs(hash((text, tmp_path)))}"
        write(text, f"{name}.py")
        return name

    return made


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(database=f"sqlite:///{tmp_path}/circumspect.db")


@pytest.fixture
async def store(settings: Settings) -> AsyncIterator[SqlStore]:
    opened = await SqlStore.open(settings.database)
    yield opened
    await opened.close()


@pytest.fixture
def apply(write: Write, store: SqlStore, settings: Settings, clock: FixedClock) -> Callable[..., Any]:
    async def applied(text: str | Path, **options: Any) -> Applied:
        path = text if isinstance(text, Path) else write(text)
        return await apply_file(path, store, settings, clock=clock, **options)

    return applied
