"""Directory: a tenant's id -> its `TurnSetup`, built from what is stored and kept until that changes.

    directory = Directory(store, settings, vault, clock, ids)
    setup = await directory.setup(tenant)

Whether what is kept is still current is looked up at most once a second and tenant. A configuration that cannot be
built (a policy that does not load, a tool that cannot be imported, an MCP server that is down) stops its own tenant and
nobody else: nothing of an older configuration is served instead, because that could be the policy that was just
tightened. A turn in flight keeps the Setup it began with, and what belongs to that one (connections to MCP servers) is
closed when the last turn has let go of it. That is why closing hangs on the life of the tools object: whoever can still
call a tool holds it.
"""

from __future__ import annotations

import asyncio
import logging
import tempfile
import weakref
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import NoReturn

import sqlalchemy as sa

from circumspect.errors import CircumspectError, ConfigError, UnknownTenant
from circumspect.knowledge.search import Library
from circumspect.models import ProviderSettings, close_model, open_model
from circumspect.models.pricing import read_price
from circumspect.policy.keys.findings import AnyName
from circumspect.policy.load import load
from circumspect.policy.policy_file import Policy
from circumspect.ports import Clock, Ids, Model, Ports
from circumspect.prompts import Prompt
from circumspect.server.config import Settings
from circumspect.server.stores import access, policies, tenants
from circumspect.server.stores.policies import PolicyVersion
from circumspect.server.stores.tenants import TenantRow
from circumspect.server.tenants.tenant_file import TenantSettings, profiles_of, read_settings
from circumspect.server.tenants.tool_building import build, read_client_specs
from circumspect.server.vault import Vault, key_path
from circumspect.setup import TurnSetup
from circumspect.stores import SqlStore
from circumspect.stores.prompts import load_version
from circumspect.tools.tool_context import ToolContext
from circumspect.tools.tool_threads import DaemonThreads
from circumspect.values import TenantId, ToolSpec

logger = logging.getLogger("circumspect.server")

CHECK_SECONDS = 1.0
RETRY_SECONDS = 5.0
BUILD_SECONDS = 60.0
RECENT_MODELS = 64


class TenantUnavailable(ConfigError):
    """The tenant is known, and its configuration cannot be used. Nothing is answered for it until it can."""

    code = "tenant_unavailable"

    def again(self) -> TenantUnavailable:
        """The same anew: an exception that was raised drags its frames along, and what is in them."""
        return TenantUnavailable(self.problem, fix=self.fix)


@dataclass(slots=True)
class _Kept:
    """What is known of one tenant, and since when. Changed under its lock."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    checked: float = float("-inf")
    revision: int = -1
    settings: TenantSettings | None = None
    setup: TurnSetup | None = None
    problem: TenantUnavailable | None = None
    tried: float = float("-inf")
    step: str = ""
    """What its setup is waiting for, to be named if that takes too long."""

    def refuse(self, tenant: TenantId) -> NoReturn:
        raise self.problem.again() if self.problem else _make_unconfigured_error(tenant)


@dataclass(frozen=True, slots=True)
class _Stored:
    row: TenantRow
    policy: PolicyVersion | None
    sealed: Mapping[str, str] = field(repr=False)


class Directory:
    def __init__(
        self,
        store: SqlStore,
        settings: Settings,
        vault: Vault,
        clock: Clock,
        ids: Ids,
        *,
        library: Library | None = None,
        check_seconds: float = CHECK_SECONDS,
        retry_seconds: float = RETRY_SECONDS,
    ) -> None:
        self._store, self._settings, self._vault, self._clock, self._ids = store, settings, vault, clock, ids
        self._library = library or Library(store)
        self._check_seconds, self._retry_seconds = check_seconds, retry_seconds
        self._kept: dict[TenantId, _Kept] = {}
        # All that somebody has, so that one name is one model; and those asked for last, for the next who asks.
        self._models: weakref.WeakValueDictionary[str, Model] = weakref.WeakValueDictionary()
        self._recent_models: OrderedDict[str, Model] = OrderedDict()
        # A tenant's, however often its configuration changes: those that hang stay its own.
        self._threads: dict[TenantId, DaemonThreads] = {}
        self._opening = asyncio.Lock()
        self._opened: set[AsyncExitStack] = set()
        self._closing: set[asyncio.Task[None]] = set()
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        self._closed = False

    async def setup(self, tenant: TenantId) -> TurnSetup:
        """Raises `UnknownTenant`, or `TenantUnavailable` with what is wrong with its configuration."""
        kept = self._kept.get(tenant)
        if kept is None or kept.setup is None or self._is_old(kept):
            kept = await self._current(tenant, build=True)
        return kept.setup or kept.refuse(tenant)

    async def settings(self, tenant: TenantId, *, since: int = -1) -> TenantSettings:
        """What the server does for the tenant beside answering. There also while its tools are not. `since` is a
        revision that the caller has already acted on, and nothing older is returned."""
        kept = self._kept.get(tenant)
        if kept is None or kept.settings is None or kept.revision < since or self._is_old(kept):
            kept = await self._current(tenant, build=False, since=since)
        return kept.settings or kept.refuse(tenant)

    async def close(self) -> None:
        """Lets go of everything, whatever is under way. Closing twice does no harm."""
        self._closed = True
        self._kept.clear()
        for stack in list(self._opened):
            await self._close(stack)
        await asyncio.gather(*self._closing)
        for model in list(self._models.values()):
            await close_model(model)
        self._models.clear()
        self._recent_models.clear()
        if self._temporary is not None:
            self._temporary.cleanup()
            self._temporary = None

    # --- keeping ----------------------------------------------------------------------------------------------------

    def _is_old(self, kept: _Kept) -> bool:
        return asyncio.get_running_loop().time() - kept.checked >= self._check_seconds

    async def _current(self, tenant: TenantId, *, build: bool, since: int = -1) -> _Kept:
        """What is stored now, and with `build` the Setup of it. One task a tenant looks; the others wait for it."""
        kept = self._kept.setdefault(tenant, _Kept())
        async with kept.lock:
            now = asyncio.get_running_loop().time
            if kept.revision < since or self._is_old(kept):
                revision = await self._store.tx(tenants.revision, tenant)
                if revision is None:
                    self._kept.pop(tenant, None)
                    raise UnknownTenant(
                        f"There is no tenant '{tenant}'.", fix="Create it: circumspect apply tenant.yaml."
                    )
                if revision != kept.revision:
                    kept.revision, kept.settings, kept.setup, kept.problem = -1, None, None, None
                    kept.tried = float("-inf")
                kept.checked = now()
            idle = kept.setup is None and (kept.problem is None or now() - kept.tried >= self._retry_seconds)
            if (kept.settings is None and kept.problem is None) or (build and idle):
                await self._fill(tenant, kept, build=build)
                kept.tried = now()
        return kept

    async def _fill(self, tenant: TenantId, kept: _Kept, *, build: bool) -> None:
        stored = await self._store.tx(_read, tenant)
        if stored is None:
            raise UnknownTenant(f"There is no tenant '{tenant}'.", fix="Create it: circumspect apply tenant.yaml.")
        kept.revision, kept.problem = stored.row.revision, None
        try:
            if stored.row.settings is None:
                raise _make_unconfigured_error(tenant)
            kept.settings = read_settings(stored.row.settings)
            if build:
                async with asyncio.timeout(BUILD_SECONDS):
                    kept.setup = await self._build_setup(stored, kept.settings, kept)
        except TenantUnavailable as problem:
            kept.problem = problem.again()
        except CircumspectError as problem:
            kept.problem = _unavailable(tenant, str(problem))
        except TimeoutError:
            slow = f"{kept.step} took longer than {BUILD_SECONDS:g} seconds."
            kept.problem = _unavailable(tenant, slow, fix="It is tried again by itself. Is the machine overloaded?")
        except Exception as problem:
            logger.exception("the configuration of tenant %s cannot be built", tenant)
            kept.problem = _unavailable(tenant, f"{type(problem).__name__} while it was read.")
        if kept.problem is not None:
            logger.warning("%s", kept.problem)

    # --- building ---------------------------------------------------------------------------------------------------

    async def _build_setup(self, stored: _Stored, settings: TenantSettings, kept: _Kept) -> TurnSetup:
        tenant = stored.row.tenant
        kept.step = "Opening its model"
        context = ToolContext(
            tenant=tenant.id,
            language=tenant.language,
            directory=self._folder(),
            clock=self._clock,
            secrets={name: self._vault.unseal(text) for name, text in stored.sealed.items()},
        )
        model = await self.model(settings.model or self._settings.model)
        text, name = stored.policy.text if stored.policy else "", f"policy of {tenant.id}"
        kept.step = "Reading its policy"
        policy = await asyncio.to_thread(load, text, name=name) if text else Policy()
        threads = self._threads.setdefault(tenant.id, DaemonThreads())
        if any(one.client is None and one.http is None for one in settings.tools):
            kept.step = "Reaching its tools"
        tools = await build(
            settings.tools, context, policy=policy, allow=self._settings.allow_addresses, threads=threads
        )
        self._opened.add(tools.opened)
        try:
            if self._closed:
                raise _unavailable(tenant.id, "The server is shutting down.")
            clients = read_client_specs(settings.tools)
            specs = {**clients, **tools.specs()}
            if text:
                kept.step = "Reading its policy"
                policy = await asyncio.to_thread(load, text, specs=specs, seen=AnyName(), name=name)
            kept.step = "Reading and writing in the database"
            await self._remember(tenant.id, specs)
        except BaseException:
            await self._close(tools.opened)
            raise
        loop = asyncio.get_running_loop()
        weakref.finalize(tools, self._let_go, loop, tools.opened).atexit = False
        ports = Ports(model, tools, self._store, self._clock, self._ids)
        within = timedelta(hours=self._settings.repeat_hours)
        setup = TurnSetup(
            tenant,
            policy,
            profiles_of(settings),
            ports,
            prompts=await self._store.tx(_load_prompts, tenant.id, settings.prompts),
            temperatures=settings.temperatures.by_purpose(),
            clients=clients,
            repeat_within=within,
        )
        if settings.understanding is None:
            return setup
        from circumspect.server.tenants.understanding_settings import configure_understanding

        made = configure_understanding(settings.understanding, tenant.business, self._library)
        return replace(setup, understanding=made.understanding, guardian=made.guardian, searches=made.searches)

    @property
    def model_settings(self) -> ProviderSettings:
        """How models are opened here: how long they are waited for, and what those without a list price cost."""
        prices = dict(map(read_price, self._settings.model_prices))
        return ProviderSettings(timeout=self._settings.model_seconds, prices=prices)

    async def model(self, name: str) -> Model:
        """One for all tenants that name it: they share its connections. In a thread, because a provider's packages take
        seconds to import. Names are the tenants' to choose: what nobody has any more is kept for `RECENT_MODELS`."""
        async with self._opening:
            model = self._models.get(name)
            if model is None:
                model = await asyncio.to_thread(open_model, name, settings=self.model_settings)
                self._models[name] = model
            self._recent_models[name] = model
            self._recent_models.move_to_end(name)
            while len(self._recent_models) > RECENT_MODELS:
                self._recent_models.popitem(last=False)
            return model

    async def _remember(self, tenant: TenantId, specs: Mapping[str, ToolSpec]) -> None:
        """What the tools are, for replays: an MCP server may have others today than when the file was applied."""
        known = await self._store.tool_specs(tenant)
        changed = {name: spec for name, spec in specs.items() if known.get(name) != spec}
        if changed:
            await self._store.put_tools(tenant, changed)

    def _folder(self) -> Path:
        folder = data_directory(self._settings.database)
        if folder is not None:
            return folder
        if self._temporary is None:
            self._temporary = tempfile.TemporaryDirectory(prefix="circumspect-")
        return Path(self._temporary.name)

    # --- letting go -------------------------------------------------------------------------------------------------

    def _let_go(self, loop: asyncio.AbstractEventLoop, stack: AsyncExitStack) -> None:
        """The last turn with these tools is over. This may be any thread, wherever the object happened to be freed."""
        try:
            loop.call_soon_threadsafe(self._close_soon, stack)
        except RuntimeError:  # the loop has ended, and everything on it
            return

    def _close_soon(self, stack: AsyncExitStack) -> None:
        task = asyncio.get_running_loop().create_task(self._close(stack))
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    async def _close(self, stack: AsyncExitStack) -> None:
        if stack not in self._opened:
            return
        self._opened.discard(stack)
        try:
            await stack.aclose()
        except Exception:
            logger.warning("a tenant's tools could not be closed", exc_info=True)


def data_directory(database: str) -> Path | None:
    """The folder for files of the tools' own: beside an SQLite database; None when everything is in memory."""
    beside = key_path(database)
    if beside is not None:
        return beside.parent
    return Path(".circumspect") if database.startswith("postgres") else None


def _read(connection: sa.Connection, tenant: TenantId) -> _Stored | None:
    row = tenants.get(connection, tenant)
    if row is None:
        return None
    return _Stored(row, policies.current(connection, tenant), access.get_sealed_secrets(connection, tenant))


def _load_prompts(connection: sa.Connection, tenant: TenantId, chosen: Mapping[str, str]) -> dict[str, Prompt]:
    return {name: load_version(connection, tenant, id_) for name, id_ in chosen.items()}


def _make_unconfigured_error(tenant: TenantId) -> TenantUnavailable:
    return _unavailable(tenant, "It was made by a program that brings its own tools.")


_CORRECT_IT = "Correct its file and run: circumspect apply tenant.yaml."


def _unavailable(tenant: TenantId, problem: str, fix: str = _CORRECT_IT) -> TenantUnavailable:
    return TenantUnavailable(f"Tenant '{tenant}' cannot be served: {problem}", fix=fix)
