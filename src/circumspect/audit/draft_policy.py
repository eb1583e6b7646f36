"""A first policy from the tools found in transcripts. Every guess is marked for review, with what it was guessed from.

A tool's own annotations come first, then its name, then its description; what its calls were seen to return can only
make a guess stricter. What nothing speaks for is taken to change something and is confirmed: a draft that is too
careful asks once too often, one that is too loose acts once too often.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from circumspect.audit.message_formats import steps
from circumspect.audit.transcript_files import Transcript
from circumspect.audit.transcript_steps import TranscriptCall, TranscriptResult, Unknown
from circumspect.policy.grounding.actions import words_of
from circumspect.policy.grounding.tracing import names_a_destination
from circumspect.policy.grounding.words import bag
from circumspect.policy.keys.tool_policy import ConfirmWhen, ToolPolicy
from circumspect.values import Effect, ToolSpec

_READS = bag(
    "get list search find read fetch lookup look check show view describe count calculate compute think estimate "
    "compare query "
    "browse retrieve is has can verify validate preview summarize summarise display ls cat grep pwd du wc diff tail "
    "head sort "
    "echo stat inspect analyze analyse mean sum average max min convert round absolute percentage cd"
)
_DESTROYS = bag(
    "delete remove cancel drop purge wipe destroy erase terminate revoke close refund pay transfer charge withdraw "
    "ban rm "
    "rmdir kill reset uninstall deactivate disable shutdown execute run purchase buy"
)
_WRITES = bag(
    "create add append insert update change modify edit set schedule reschedule book reserve register make new write "
    "put "
    "rename mv move cp copy invite share upload exchange return order place start stop touch mkdir lock unlock mark "
    "send "
    "tag assign comment reply forward notify message email tweet retweet follow unfollow log login logout save fill "
    "activate adjust press resolve authenticate fund mention release post publish submit"
)
_STRANGERS = bag(
    "web webpage website url page browse browser email emails mail inbox message messages chat channel review reviews "
    "comment comments tweet tweets feed rss news document documents file files attachment ticket tickets post posts "
    "transcript calendar slack"
)
_MONEY = bag("money payment transaction funds balance invoice price refund certificate credit")
_SAYS_CHANGE = re.compile(
    r"\b(?:creates?|adds?|updates?|modif(?:y|ies)|sets?|books?|changes?|writes?|schedules?|starts?|invites?|uploads?)\b"
)
_SAYS_DESTROY = re.compile(r"\b(?:deletes?|removes?|cancels?|pays?|transfers?|refunds?|irreversibl[ey]|permanently)\b")
_SAYS_READ = re.compile(
    r"(?:^|description: )(?:gets?|lists?|search(?:es)?|finds?|reads?|fetch(?:es)?|returns?|shows?|looks? up|retrieves?"
    r"|calculates?|computes?|converts?|estimates?|determines?|compares?|checks?|views?|displays?)\b"
)
_REPORTS_CHANGE = re.compile(
    r"\b(?:successfully|has been|was) (?:\w+ )?(?:created|deleted|updated|sent|cancell?ed|removed|added)\b"
)


@dataclass(frozen=True, slots=True)
class Guess:
    """What a tool probably does, and what speaks for it."""

    tool: str
    policy: ToolPolicy
    because: str
    open_world: bool = False


@dataclass
class ObservedCalls:
    """What the calls of one tool were seen to do."""

    calls: int = 0
    failed: int = 0
    reported_change: int = 0
    errors: Counter[str] = field(default_factory=Counter)


def guess(spec: ToolSpec, seen: ObservedCalls | None = None) -> Guess:
    """The policy of one tool. Never looser than what the tool declares of itself."""
    effect, because = _effect(spec.name, spec.description, spec.effect)
    if effect == "read" and seen and seen.reported_change:
        effect, because = "write", f"named like a lookup, but {seen.reported_change} results report a change"
    confirm: ConfirmWhen | None = None
    if effect != "read" and because.startswith("nothing"):
        confirm = "always"
    strangers = effect == "read" and (spec.open_world or bool(_STRANGERS.intersection(words_of(spec.name))))
    return Guess(spec.name, ToolPolicy(effect=effect, confirm=confirm), because, strangers or spec.open_world)


@lru_cache(maxsize=4096)
def _effect(name: str, description: str, declared: Effect | None) -> tuple[Effect, str]:
    if declared is not None:
        return declared, "the tool declares it"
    words = words_of(name)
    first = words[0] if words else ""
    text = description.strip().lower()[:400]
    if first in _READS:
        if _SAYS_DESTROY.search(text.split(".")[0]) and not _SAYS_READ.search(text):
            return "write", f"named '{first}…', but its description speaks of a change"
        return "read", f"its name starts with '{first}'"
    if "human" in words or "agent" in words or "agents" in words:
        return "write", "it hands over to a person"
    if first in _DESTROYS or (first in _WRITES and _MONEY.intersection(words)):
        return "destructive", f"its name starts with '{first}'"
    if first in _WRITES:
        return "write", f"its name starts with '{first}'"
    if _SAYS_DESTROY.search(text):
        return "destructive", "its description says so"
    if _SAYS_READ.search(text):
        return "read", "its description says so"
    if _SAYS_CHANGE.search(text):
        return "write", "its description says so"
    return "write", "nothing tells what it does"


def observe(transcripts: Iterable[Transcript]) -> tuple[Mapping[str, ToolSpec], Mapping[str, ObservedCalls]]:
    """The tools of some conversations, and what their calls were seen to do."""
    specs: dict[str, ToolSpec] = {}
    seen: dict[str, ObservedCalls] = {}
    for transcript in transcripts:
        specs.update({name: spec for name, spec in (transcript.specs or {}).items() if name not in specs})
        open_calls: dict[str, str] = {}
        for message in transcript.messages:
            try:
                found = list(steps(message))
            except Unknown:
                continue
            for step in found:
                if isinstance(step, TranscriptCall):
                    open_calls[step.call.id] = step.call.tool
                    seen.setdefault(step.call.tool, ObservedCalls()).calls += 1
                elif isinstance(step, TranscriptResult) and (tool := open_calls.pop(step.call_id, "")):
                    one = seen.setdefault(tool, ObservedCalls())
                    one.failed += step.failed or step.content[:5].lower() == "error"
                    one.reported_change += bool(_REPORTS_CHANGE.search(step.content[:500].lower()))
    for tool in seen:
        if tool and tool not in specs and all(one.isprintable() for one in tool):
            specs[tool] = ToolSpec(tool)
    return specs, seen


def draft(transcripts: Iterable[Transcript]) -> str:
    """A policy file in YAML, tools in alphabetical order, every guess marked `# review:`."""
    specs, seen = observe(transcripts)
    return "".join(_lines(specs, seen))


def _lines(specs: Mapping[str, ToolSpec], seen: Mapping[str, ObservedCalls]) -> Iterator[str]:
    yield "# Drafted from transcripts. Every setting is a guess: read each line marked 'review', then drop the mark.\n"
    yield "# `circumspect policy check` tells what is wrong with it, `circumspect audit` what it would have held.\n"
    yield "version: 1\n"
    yield "tools:\n" if specs else "tools: {}\n"
    for name in sorted(specs):
        spec, calls = specs[name], seen.get(name, ObservedCalls())
        guessed = guess(spec, calls)
        yield f"  {_quote_name(name)}:\n"
        yield f"    effect: {guessed.policy.effect}  # review: {guessed.because}; seen {calls.calls} times\n"
        if guessed.policy.confirm:
            yield f"    confirm: {guessed.policy.confirm}  # review: nobody said what this tool does\n"
        elif guessed.policy.effect == "write":
            yield "    confirm: when_implied  # review: `always` asks before every call\n"
        destinations = [name for name in spec.properties if names_a_destination(name)]
        if destinations and guessed.policy.effect != "read":
            yield "    params:\n"
            for parameter in destinations:
                yield f"      {_quote_name(parameter)}: {{source: trusted}}  # review: says where something goes\n"
        if guessed.open_world:
            yield "    open_world: true  # review: strangers may write what it returns\n"


def _quote_name(name: str) -> str:
    plain = re.fullmatch(r"[A-Za-z_][\w-]*", name) and name not in ("null", "true", "false", "yes", "no", "on", "off")
    return name if plain else json.dumps(name)
