"""heed: the user's words -> the wishes that are open, and a draft that code makes of one which the model passes over.

A model may forget what was asked for, promise it, or refuse it; code does not. Nothing here has effects.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from circumspect.aside import compute_aside, weigh_tools
from circumspect.hashing import digest
from circumspect.journal import Journal
from circumspect.policy.keys.tool_policy import effect_of
from circumspect.policy.policy_file import Policy
from circumspect.policy.understanding.open_wishes import Wish, follow_wishes, is_only_asked
from circumspect.ports import Store
from circumspect.recall import REACH, recall, recall_from_turn, recall_turn
from circumspect.values import (
    Assessment,
    Draft,
    Execution,
    History,
    JsonObject,
    Profile,
    Screened,
    TenantId,
    ToolSpec,
)
from circumspect.wording import compact

MOST_KEPT = 40


@dataclass(frozen=True, slots=True)
class OpenWishes:
    every: tuple[Wish, ...] = ()
    now: tuple[Wish, ...] = ()
    """Those that the newest message said, or said more about."""
    followed: tuple[Wish, ...] = ()
    """With those that are no longer open."""
    events: int = 0
    """How many events of the conversation they were followed through."""


async def heed(
    screened: Screened,
    tools: Mapping[str, ToolSpec],
    changing: Mapping[str, ToolSpec],
    profile: Profile,
    notes: Journal,
    store: Store,
) -> OpenWishes:
    """The store is asked only where there is a wish, or where the beginning of the conversation is out of view, and
    the last turn did not hand on what it came to."""
    kept, said = _read_kept(screened, changing), _last_said(screened)
    if kept is None:
        history = await _recall(screened, tools, changing, profile, notes, store)
        followed = await _follow(history, changing)
    else:
        history = recall_turn(screened, tools, notes)
        followed = await _follow(history, changing, kept, said)
    open_ones = tuple(one for one in followed if one.state == "open")
    newest = max(event.index for event in history.utterances if event.speaker == "user")
    now = tuple(one for one in open_ones if one.touched == newest)
    return OpenWishes(open_ones, now, followed, len(history.events))


async def _recall(
    screened: Screened,
    tools: Mapping[str, ToolSpec],
    changing: Mapping[str, ToolSpec],
    profile: Profile,
    notes: Journal,
    store: Store,
) -> History:
    before = screened.opened.history
    if not before or len(before) < profile.history:
        history = recall_from_turn(screened, tools, notes)
        if not before or not await _follow(history, changing):
            return history
    return await recall(screened, "", None, tools, notes, store)


async def _follow(
    history: History, changing: Mapping[str, ToolSpec], kept: Sequence[Wish] = (), said: str = ""
) -> tuple[Wish, ...]:
    letters = history.letters + weigh_tools(changing.values())
    return await compute_aside(letters, follow_wishes, history, changing, kept, said)


# --- from turn to turn ------------------------------------------------------------------------------------------------


def keep_wishes(
    heard: OpenWishes, changing: Mapping[str, ToolSpec], ran: Sequence[Execution], next_seq: int, *, speaks: bool
) -> JsonObject | None:
    """For the next turn, if it begins where this one ends: at `next_seq`. None where a call may still end otherwise, or
    where there is too much to hand on: then the conversation is read again."""
    if any(one.state not in ("succeeded", "failed") for one in ran):
        return None
    passed = heard.events + speaks
    kept = [{**vars(one), "touched": one.touched - passed} for one in heard.followed if one.touched - passed >= -REACH]
    if len(kept) > MOST_KEPT:
        return None
    return {"seq": next_seq, "tools": _versions(changing), "wishes": kept}


def _read_kept(screened: Screened, changing: Mapping[str, ToolSpec]) -> list[Wish] | None:
    """None where the last turn left nothing, or something happened since: somebody else wrote into the conversation, a
    call became known, other tools."""
    opened = screened.opened
    kept: Any = opened.wishes
    if not kept or kept["seq"] != opened.next_seq - 1 or kept["tools"] != _versions(changing):
        return None
    if opened.unsettled or opened.happened or not _last_said(screened):
        return None
    return [Wish(**one) for one in kept["wishes"]]


def _versions(changing: Mapping[str, ToolSpec]) -> str:
    return _digest_versions(tuple([f"{name} {spec.version}" for name, spec in changing.items()]))


@lru_cache(maxsize=1024)
def _digest_versions(versions: tuple[str, ...]) -> str:
    return digest(versions)[:16]


def _last_said(screened: Screened) -> str:
    return next((one.content for one in reversed(screened.opened.history) if one.role == "assistant"), "")


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
    proposed = dict.fromkeys(call.tool for call in drafted.calls if call.tool in changing)
    return next((tool for tool in proposed if is_only_asked(tool, text, changing)), "")


def propose_wish(wish: Wish) -> Draft:
    """The user's own wish, as a draft. That it is sure of itself decides nothing: the rules do."""
    assessment = Assessment(1.0, tool_call=wish.tool, tool_params=wish.arguments, by_user=True)
    return Draft("", (wish.call,), assessment)


def describe_wish(wish: Wish) -> str:
    return f"{wish.tool} {compact(wish.arguments)}"
