"""Variants: an `Overlay` says what should be different, `make_variant` makes a tenant's `TurnSetup` different in just
that.

    overlay = read_overlay({"model": "openai:gpt-4o", "thresholds": {"clarity": 0.7}})
    variant = await varied(setup, overlay, resources)
    with variant.words():
        await run_turn(incoming, variant.setup)

What an overlay names is looked up when the variant is made, so a version that is not there stops the variant and not a
turn. Tools and store are never part of it: a variant can think differently, it cannot reach anything else.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol, get_args

from circumspect.errors import ConfigError
from circumspect.guardian.port import Guardian
from circumspect.policy.policy_file import Policy
from circumspect.policy.understanding.analysis import Routing
from circumspect.policy.understanding.confidence import Bands
from circumspect.policy.understanding.understood import Understanding
from circumspect.ports import Model, PassageSearch
from circumspect.prompts import FIXED, Prompt, list_prompt_names, use_prompts
from circumspect.setup import TurnSetup
from circumspect.values import Business, Json, TenantId, ToolSpec

ProfileName = Literal["standard", "adaptive", "guided", "service"]
WAYS: tuple[ProfileName, ...] = get_args(ProfileName)
CONTROLLERS = ("react", "heuristic")
THRESHOLDS: Mapping[str, str] = {
    "critique_below": "below this confidence a second opinion is asked for",
    "spam": "from this score on a message is turned away",
    "clarity": "below this confidence in what is wanted the user is asked",
    "answer_from": "from this confidence on an answer is given",
    "escalate_below": "below this confidence a person is asked",
}
_UNDERSTANDING = frozenset(THRESHOLDS) - {"critique_below"}


@dataclass(frozen=True)
class Overlay:
    """What is different. Whatever is not said stays the tenant's own."""

    model: str | None = None
    prompts: Mapping[str, str] = field(default_factory=dict)
    """Name to the id (name@hash) of the version to use."""
    policy: int | None = None
    """Version of the tenant's policy."""
    thresholds: Mapping[str, float] = field(default_factory=dict)
    profile: ProfileName | None = None
    synthetic: bool | None = None
    """The model finds the analysis in its context as its own words (True) or as the result of a tool (False)."""
    controller: str | None = None
    """Who reviews cases: `react` or `heuristic`."""

    def to_json(self) -> dict[str, Json]:
        """Only what is different."""
        said: dict[str, Json] = {
            "model": self.model,
            "prompts": dict(self.prompts) or None,
            "policy": self.policy,
            "thresholds": dict(self.thresholds) or None,
            "profile": self.profile,
            "synthetic": self.synthetic,
            "controller": self.controller,
        }
        return {name: value for name, value in said.items() if value is not None}


def read_overlay(document: object, where: str = "overlay") -> Overlay:
    """Raises `ConfigError` that names the key and what may stand there."""
    given = read_object(document, where, Overlay.__dataclass_fields__)
    free = [name for name in list_prompt_names() if name not in FIXED]
    chosen = read_object(given.get("prompts") or {}, f"{where}.prompts", free)
    prompts = {name: _prompt(name, id_, where) for name, id_ in chosen.items()}
    thresholds = read_object(given.get("thresholds") or {}, f"{where}.thresholds", THRESHOLDS)
    numbers = {name: _between(value, f"{where}.thresholds.{name}") for name, value in thresholds.items()}
    if numbers.get("escalate_below", 0.0) > numbers.get("answer_from", 1.0):
        raise ConfigError(
            f"{where}: escalate_below is above answer_from.", fix="A person is asked below, an answer is given above."
        )
    return Overlay(
        model=_text(given.get("model"), f"{where}.model"),
        prompts=prompts,
        policy=_version(given.get("policy"), f"{where}.policy"),
        thresholds=numbers,
        profile=_one_of(given.get("profile"), WAYS, f"{where}.profile"),  # type: ignore[arg-type]
        synthetic=_flag(given.get("synthetic"), f"{where}.synthetic"),
        controller=_one_of(given.get("controller"), CONTROLLERS, f"{where}.controller"),
    )


class Resources(Protocol):
    """Where what an overlay names is found. Each raises `ConfigError` for what is not there."""

    async def model(self, name: str) -> Model: ...

    async def policy(self, tenant: TenantId, version: int, specs: Mapping[str, ToolSpec]) -> Policy: ...

    async def prompt(self, tenant: TenantId, id_: str) -> Prompt: ...

    async def understanding(self, service: bool, business: Business) -> Understander: ...


@dataclass(frozen=True)
class Understander:
    """How messages are understood, for a tenant that has no such profile of its own."""

    understanding: Understanding
    guardian: Guardian | None
    searches: tuple[PassageSearch, ...]


@dataclass(frozen=True)
class Variant:
    """A setup, and the versions of prompts that its turns see."""

    setup: TurnSetup
    prompts: Mapping[str, Prompt] = field(default_factory=dict)

    def use_prompts(self) -> AbstractContextManager[None]:
        return use_prompts(self.prompts)


async def make_variant(setup: TurnSetup, overlay: Overlay, resources: Resources) -> Variant:
    tenant = setup.tenant.id
    prompts = {name: await resources.prompt(tenant, id_) for name, id_ in overlay.prompts.items()}
    return Variant(await apply_overlay(setup, overlay, resources), prompts)


async def apply_overlay(setup: TurnSetup, overlay: Overlay, resources: Resources) -> TurnSetup:
    """The same setup, different in what the overlay says. Prompts are no part of a setup: see `make_variant`."""
    if overlay.policy is not None:
        specs = setup.ports.tools.specs()
        setup = replace(setup, policy=await resources.policy(setup.tenant.id, overlay.policy, specs))
    if overlay.model is not None:
        setup = replace(setup, ports=replace(setup.ports, model=await resources.model(overlay.model)))
    if overlay.profile is not None:
        setup = await _apply_profile(setup, overlay.profile, resources)
    return _apply_understanding(_apply_critique(setup, overlay), overlay)


async def _apply_profile(setup: TurnSetup, way: ProfileName, resources: Resources) -> TurnSetup:
    if way in ("standard", "adaptive"):
        # The plan's mode and the share of a roll-out are put aside: this conversation has its arm already.
        return replace(setup, mode=way, understanding=None, guardian=None, searches=())
    if setup.understanding is not None:
        return replace(setup, understanding=replace(setup.understanding, decide=way == "service"))
    made = await resources.understanding(way == "service", setup.tenant.business)
    return replace(setup, understanding=made.understanding, guardian=made.guardian, searches=made.searches)


def _apply_critique(setup: TurnSetup, overlay: Overlay) -> TurnSetup:
    below = overlay.thresholds.get("critique_below")
    if below is None:
        return setup
    return replace(setup, profiles={mode: replace(one, critique_below=below) for mode, one in setup.profiles.items()})


def _apply_understanding(setup: TurnSetup, overlay: Overlay) -> TurnSetup:
    said, before = overlay.thresholds, setup.understanding
    wanted = sorted(_UNDERSTANDING & said.keys()) + (["synthetic"] if overlay.synthetic is not None else [])
    if not wanted:
        return setup
    if before is None:
        raise ConfigError(
            f"'{wanted[0]}' changes how messages are understood, and this tenant's are not.",
            fix="Choose the profile guided or service as well, or leave it out.",
        )
    bands = Bands(said.get("answer_from", before.bands.high), said.get("escalate_below", before.bands.low))
    if bands.low > bands.high:
        raise ConfigError(
            f"Below {bands.low} a person would be asked, and from {bands.high} an answer given: they overlap.",
            fix="Set both answer_from and escalate_below.",
        )
    routing = Routing(said.get("spam", before.routing.spam), said.get("clarity", before.routing.clarity))
    after = replace(before, routing=routing, bands=bands)
    if overlay.synthetic is not None:
        after = replace(after, synthetic=overlay.synthetic, synthetic_share=1.0)
    return replace(setup, understanding=after)


# --- reading --------------------------------------------------------------------------------------------------------


def read_object(value: object, where: str, known: Collection[str]) -> Mapping[str, Any]:
    """An object with no other keys than these. Raises `ConfigError` that says where and which."""
    may_have = f"It may have: {', '.join(known)}."
    if not isinstance(value, Mapping):
        raise ConfigError(f"{where} is not an object.", fix=may_have)
    for key in value:
        if key not in known:
            raise ConfigError(f"{where} has an unknown key '{key}'.", fix=may_have)
    return value


def _prompt(name: str, id_: object, where: str) -> str:
    if not isinstance(id_, str) or id_.rpartition("@")[0] != name:
        raise ConfigError(
            f"{where}.prompts.{name} is not the id of a version.",
            fix=f"Write {name}@ and its hash; `circumspect prompts list` shows them.",
        )
    return id_


def _text(value: object, where: str) -> str | None:
    if value is None or (isinstance(value, str) and 0 < len(value) <= 300):
        return value
    raise ConfigError(f"{where} is not a name.", fix="Write a model such as openai:gpt-4o.")


def _version(value: object, where: str) -> int | None:
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and 0 < value < 2**31):
        return value
    raise ConfigError(f"{where} is not a version.", fix="Write the number of a version of the tenant's policy.")


def _between(value: object, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ConfigError(f"{where} is not a number from 0 to 1.", fix="All confidences are from 0 to 1.")
    return float(value)


def _one_of(value: object, known: tuple[str, ...], where: str) -> str | None:
    if value is None or (isinstance(value, str) and value in known):
        return value
    raise ConfigError(f"{where} is none that we know.", fix=f"One of: {', '.join(known)}.")


def _flag(value: object, where: str) -> bool | None:
    if value is None or isinstance(value, bool):
        return value
    raise ConfigError(f"{where} is neither true nor false.", fix="Write true or false.")
