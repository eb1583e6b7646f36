"""gather: Screened -> Gathered, and Gathered -> Gathered with more in it.

Adaptive turns begin with the least a reply can be made from; the model asks for the rest by key. Standard turns begin
with everything. Nothing is fetched that was not decided on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from circumspect.journal import ContextEvent, ContextKeyEvent, Journal
from circumspect.language.opening_hours import say_hours
from circumspect.language.registry import Language
from circumspect.language.sentences import split_sentences
from circumspect.policy.grounding.untrue import UntrueSentence
from circumspect.prompts import prompt
from circumspect.reasons import ReasonCode
from circumspect.values import Block, Business, ChatMessage, Gathered, Profile, Screened, ToolCall, ToolSpec
from circumspect.wording import compact, render_value

NOTHING = "(there is nothing under this key)"
POLICIES = ("returns", "shipping", "privacy", "terms")


def gather(
    screened: Screened,
    business: Business,
    tools: Mapping[str, ToolSpec],
    profile: Profile,
    now: datetime,
    scene: str = "",
) -> Gathered:
    """`scene` is what the model sees of the user's screen."""
    incoming = screened.incoming
    messages = incoming.talk or (*_recent(screened, profile), ChatMessage("user", incoming.text))
    specs = tuple(tools.values())
    if profile.passthrough:
        return Gathered(screened, (), specs, messages, full=True)
    given = tuple(
        Block(key, text)
        for key, text in (
            ("application", incoming.instructions),
            ("page", scene),
            ("findings", incoming.findings),
        )
        if text
    )
    if profile.mode == "standard":
        blocks = (_basics(business, now, screened.language), *given, *_all_blocks(business))
        return Gathered(screened, blocks, specs, messages, full=True)
    keys = [f"policies.{name}" for name in POLICIES if business.policies.get(name)]
    keys += [key for key, text in _contents(business).items() if text and not key.startswith("policies.")]
    blocks = (
        _basics(business, now, screened.language),
        *given,
        Block("tools", "\n".join(spec.signature for spec in specs) or "(none)"),
        Block("context", "\n".join((*keys, "tool_schema:NAME"))),
    )
    return Gathered(screened, blocks, (), messages, listed=specs)


def add_context(
    gathered: Gathered,
    keys: Sequence[str],
    business: Business,
    tools: Mapping[str, ToolSpec],
    profile: Profile,
    notes: Journal,
) -> Gathered:
    """One context round: what was asked for, or the plain statement that it is not there; after the last, all."""
    if gathered.rounds >= profile.context_rounds:
        return _add_all_context(gathered, business, tools, notes)
    have = {block.key for block in gathered.blocks}
    blocks = [_fetch_block(key, business, tools, notes) for key in dict.fromkeys(keys) if key not in have]
    notes.context_rounds += 1
    notes.write(ContextEvent(", ".join(keys), round=gathered.rounds + 1, keys=tuple(keys)))
    return replace(gathered, blocks=(*gathered.blocks, *blocks), rounds=gathered.rounds + 1)


def _add_all_context(gathered: Gathered, business: Business, tools: Mapping[str, ToolSpec], notes: Journal) -> Gathered:
    """The last resort after the context rounds: all there is, schemas included."""
    have = {block.key for block in gathered.blocks}
    schemas = [Block(f"tool_schema:{name}", _schema(spec)) for name, spec in tools.items()]
    added = [block for block in (*_all_blocks(business), *schemas) if block.key not in have]
    notes.write(ContextEvent("everything", round=gathered.rounds + 1, keys=tuple(block.key for block in added)))
    return replace(gathered, blocks=(*gathered.blocks, *added), rounds=gathered.rounds + 1, full=True)


def with_result(gathered: Gathered, call: ToolCall, text: str) -> Gathered:
    """The next draft sees the call and what came of it, as the two messages providers expect."""
    asked = ChatMessage("assistant", "", calls=(call,))
    told = ChatMessage("tool", text, call_id=call.id, tool=call.tool)
    return replace(gathered, messages=(*gathered.messages, asked, told))


def with_wishes(gathered: Gathered, wishes: Sequence[str]) -> Gathered:
    """Every draft is shown what is wanted and not done yet."""
    if not wishes:
        return gathered
    told = prompt("wishes").render(wishes="\n".join(f"- {one}" for one in wishes))
    return replace(gathered, blocks=(*gathered.blocks, Block("wishes", told)))


def with_note(gathered: Gathered, name: str, **values: str) -> Gathered:
    """The next draft is told what the last one got wrong, or missed: the prompt of that name."""
    return replace(gathered, blocks=(*gathered.blocks, Block(name, prompt(name).render(**values))))


def with_open_question(gathered: Gathered) -> Gathered:
    """Every draft is shown what the user was asked, until they have said something else than a question about it."""
    asked = _find_open_question(gathered.screened)
    return with_note(gathered, "open_question", asked=asked) if asked else gathered


def _find_open_question(screened: Screened) -> str:
    for message in reversed(screened.opened.history):
        if message.role == "assistant" and "?" in message.content:
            return render_value(" ".join(one for one in split_sentences(message.content) if "?" in one))
        if message.role == "user" and "?" not in message.content:
            return ""
    return ""


def with_correction(gathered: Gathered, claimed: UntrueSentence) -> Gathered:
    """The next draft is told which sentence of the last one is not so, and why."""
    reasons = dict(line.split(": ", 1) for line in prompt("correction_reasons").text.splitlines())
    told = prompt("correction").render(claimed=claimed.sentence, reason=reasons[claimed.reason])
    return replace(gathered, blocks=(*gathered.blocks, Block("correction", told)))


def _recent(screened: Screened, profile: Profile) -> list[ChatMessage]:
    history = screened.opened.history[-profile.history :] if profile.history else ()
    return [
        ChatMessage("user" if message.role == "user" else "assistant", message.content)
        for message in history
        if message.role != "internal" and message.content
    ]


def _basics(business: Business, now: datetime, language: Language) -> Block:
    lines = {
        "Name": business.name,
        "Description": business.description,
        "Hours": say_hours(business.hours, language),
        "Phone": business.phone,
        "E-mail": business.email,
        "Today": f"{now:%Y-%m-%d}, {now:%A}",
    }
    return Block("business", "\n".join(f"{name}: {' '.join(text.split())}" for name, text in lines.items() if text))


def _contents(business: Business) -> dict[str, str]:
    return {
        **{f"policies.{name}": text for name, text in business.policies.items()},
        "faqs": "\n\n".join(f"Q: {faq.question}\nA: {faq.answer}" for faq in business.faqs),
        "ai_instructions": business.instructions,
        "contact.full": business.contact,
        "about.full": business.about,
    }


def _all_blocks(business: Business) -> list[Block]:
    return [Block(key, text) for key, text in _contents(business).items() if text]


def _schema(spec: ToolSpec) -> str:
    shown = {"name": spec.name, "description": spec.description, "parameters": spec.parameters}
    return compact(shown)


def _fetch_block(key: str, business: Business, tools: Mapping[str, ToolSpec], notes: Journal) -> Block:
    if key.startswith("tool_schema:"):
        spec = tools.get(key.removeprefix("tool_schema:"))
        text = _schema(spec) if spec else None
    else:
        contents = _contents(business)
        known = {f"policies.{name}" for name in POLICIES} | contents.keys()
        text = contents.get(key, "") if key in known else None
    if text is None:
        notes.write(ContextKeyEvent(key, key=key), ReasonCode.CONTEXT_KEY_UNKNOWN)
    elif not text:
        notes.write(ContextKeyEvent(key, key=key), ReasonCode.CONTEXT_KEY_EMPTY)
    return Block(key, text or NOTHING)
