"""heed: the user's words -> the wishes that are open, and a draft that code makes of one which the model passes over.

A model may forget what was asked for, promise it, or refuse it; code does not. Nothing here has effects.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from circumspect.journal import Journal
from circumspect.policy.keys.tool_policy import effect_of
from circumspect.policy.policy_file import Policy
from circumspect.policy.understanding.open_wishes import Wish, follow_wishes, is_only_asked
from circumspect.ports import Store
from circumspect.recall import recall, recall_from_turn
from circumspect.values import Assessment, Draft, Profile, Screened, TenantId, ToolSpec
from circumspect.wording import compact


@dataclass(frozen=True, slots=True)
class OpenWishes:
    every: tuple[Wish, ...] = ()
    now: tuple[Wish, ...] = ()
    """Those that the newest message said, or said more about."""


async def heed(
    screened: Screened,
    tools: Mapping[str, ToolSpec],
    changing: Mapping[str, ToolSpec],
    profile: Profile,
    notes: Journal,
    store: Store,
) -> OpenWishes:
    """The store is asked only where there is a wish, or where the beginning of the conversation is out of view."""
    history = recall_from_turn(screened, tools, notes)
    before = screened.opened.history
    if before and (len(before) >= profile.history or follow_wishes(history, changing)):
        history = await recall(screened, "", None, tools, notes, store)
    said = [event.index for event in history.utterances if event.speaker == "user"]
    open_ones = tuple(one for one in follow_wishes(history, changing) if one.state == "open")
    return OpenWishes(open_ones, tuple(one for one in open_ones if one.touched == said[-1]))


def find_changing(tools: Mapping[str, ToolSpec], policy: Policy, tenant: TenantId) -> Mapping[str, ToolSpec]:
    """The tools that a wish can be about: they change something, and nothing switches them off."""
    found = {}
    for name, spec in tools.items():
        said = policy.of(name, tenant)
        if spec.configured and effect_of(spec, said) not in ("read", None) and not (said and said.deny):
            found[name] = spec
    return found


def find_unasked(drafted: Draft, text: str, changing: Mapping[str, ToolSpec]) -> str:
    """The tool that a draft would change something with, though the user only asks about it; else nothing."""
    proposed = [call.tool for call in drafted.calls if call.tool in changing]
    return next((tool for tool in proposed if is_only_asked(tool, text, changing)), "")


def propose_wish(wish: Wish) -> Draft:
    """The user's own wish, as a draft. That it is sure of itself decides nothing: the rules do."""
    assessment = Assessment(1.0, tool_call=wish.tool, tool_params=wish.arguments, by_user=True)
    return Draft("", (wish.call,), assessment)


def describe_wish(wish: Wish) -> str:
    return f"{wish.tool} {compact(wish.arguments)}"
