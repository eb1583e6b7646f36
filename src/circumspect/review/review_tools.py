"""The reviewer's four tools: what the model is told of them, and what they answer.

`policy_search`, `facts_get` and `spans_tighten` only read, so they need no ledger; `finish` is the verdict and is ruled
on by `verdict.py`. Results are kept for the length of one evaluation: the same question gets the same answer, once
paid for. An answer that the model can act on is an answer; a `Refusal` is a call that was wrong.
"""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from circumspect.forms import make_choice, make_form, make_list, make_share
from circumspect.knowledge.tree import DocumentSection, KnowledgeDocument, TextSpan
from circumspect.policy.validators import find_validator
from circumspect.ports import Model
from circumspect.reasons import ReasonCode
from circumspect.review.outline import Summaries, pick
from circumspect.review.shelf import Shelf, mark_section
from circumspect.review.values import STATUSES, ReviewCase
from circumspect.review.verdict import UNSAID, QuoteClaim, VerdictProposal
from circumspect.values import Json, JsonObject, ModelUsage, ToolCall, ToolSpec

_SECTION_SHOWN = 1_400
_NOTE_SHOWN = 8_000
_REASONS = {
    "fact_absent": ReasonCode.FACT_ABSENT,
    "contradiction": ReasonCode.POLICY_CONTRADICTS,
    "unclear": ReasonCode.ABSTAINED,
}


_TEXT: dict[str, Json] = {"type": "string", "minLength": 1, "maxLength": 500}
_CITATION = make_form(
    {
        "quote": {"type": "string", "minLength": 1, "maxLength": 4000},
        "document": {"type": "string"},
        "section": {"type": "string"},
        "page": {"type": ["integer", "null"]},
    },
    ("quote",),
)
_EVIDENCE = make_form({"field": {"type": "string", "minLength": 1}, "value": {}}, ("field",))
SPECS: Mapping[str, ToolSpec] = {
    spec.name: spec
    for spec in (
        ToolSpec(
            "policy_search",
            "Find the sections of the policy that are about something. Returns their text with document#section.",
            make_form({"query": {**_TEXT, "description": "What is looked for, in a few words."}}),
            effect="read",
        ),
        ToolSpec(
            "facts_get",
            "Read a field of the case, or everything below a name such as 'request'.",
            make_form({"field": {**_TEXT, "description": "A field's name as listed."}}),
            effect="read",
        ),
        ToolSpec(
            "spans_tighten",
            "The sentences of one section that are closest to a query, word for word, ready to be quoted.",
            make_form({"section": {**_TEXT, "description": "document#section as shown."}, "query": _TEXT}),
            effect="read",
        ),
        ToolSpec(
            "finish",
            "Give the verdict. Call it by itself, when you have seen the text and the facts that decide.",
            make_form(
                {
                    "status": make_choice(STATUSES),
                    "confidence": make_share(),
                    "rationale": {"type": "string", "minLength": 1, "maxLength": 4000},
                    "citations": make_list(_CITATION, 12),
                    "evidence": make_list(_EVIDENCE, 40),
                    "reason": {**make_choice(tuple(_REASONS)), "description": "Only with UNCERTAIN."},
                },
                ("status", "confidence", "rationale"),
            ),
            effect="read",
        ),
    )
}


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    text: str
    calls: tuple[ModelUsage, ...] = ()
    """What a search by the model cost."""
    notice: str = ""


@dataclass(frozen=True, slots=True)
class Refusal:
    """The call was wrong; the text says how to do better."""

    text: str


def enforce(call: ToolCall) -> Refusal | None:
    """Hold a call against its tool's schema. None lets it through."""
    spec = SPECS.get(call.tool)
    if spec is None:
        return Refusal(f"There is no tool {call.tool!r}. The tools are {', '.join(SPECS)}.")
    wrong = [_describe_error(error) for error in find_validator(spec).iter_errors(call.arguments)]
    return Refusal(f"The arguments of {call.tool} do not fit: {'; '.join(wrong[:4])}.") if wrong else None


def _describe_error(error: Any) -> str:
    where = ".".join(str(part) for part in error.instance_path)
    return f"{where}: {str(error.message)[:300]}" if where else str(error.message)[:300]


def proposal_of(arguments: JsonObject) -> VerdictProposal:
    """The verdict that `finish` was called with; its arguments have been through `enforce`."""
    given: Mapping[str, Any] = arguments
    claims = tuple(
        QuoteClaim(one["quote"], _document(one), one.get("section", ""), page=one.get("page"))
        for one in given.get("citations", ())
    )
    facts = tuple((one["field"], one.get("value", UNSAID)) for one in given.get("evidence", ()))
    reason = _REASONS.get(given.get("reason", ""))
    return VerdictProposal(
        given["status"], float(given["confidence"]), given["rationale"].strip(), claims, facts, reason
    )


def _document(claim: Mapping[str, str]) -> str:
    return claim.get("document") or claim.get("section", "").rpartition("#")[0]


@dataclass
class ReviewTools:
    """What is at hand for one evaluation."""

    case: ReviewCase
    shelf: Shelf
    model: Model | None = None
    summaries: Mapping[str, Summaries] = field(default_factory=dict)
    """Empty: search by words."""
    kept: dict[str, asyncio.Task[ToolAnswer | Refusal]] = field(default_factory=dict)
    read: set[str] = field(default_factory=set)
    """The fields whose values the model has been shown."""

    async def answer(self, call: ToolCall) -> ToolAnswer | Refusal:
        """Run a call that was let through. The second time, and beside the first, the same answer at no cost."""
        if call.hash in self.kept:
            known = await self.kept[call.hash]
            return ToolAnswer(known.text) if isinstance(known, ToolAnswer) else known
        self.kept[call.hash] = asyncio.create_task(self._run(call.tool, call.arguments))
        return await self.kept[call.hash]

    async def _run(self, tool: str, arguments: Mapping[str, Any]) -> ToolAnswer | Refusal:
        match tool:
            case "policy_search":
                return await self._search(arguments["query"])
            case "facts_get":
                return self._facts(arguments["field"])
            case "spans_tighten":
                return self._tighten(arguments["section"], arguments["query"])
        return Refusal(f"{tool} is not run this way.")

    async def _search(self, query: str) -> ToolAnswer:
        calls: tuple[ModelUsage, ...] = ()
        notice = ""
        if self.model is not None and self.summaries:
            picked = await pick(query, self.shelf, self.summaries, self.model)
            calls = picked.calls
            if picked.sections:
                return ToolAnswer("\n\n".join(_render_section(*pair, pair[1].own) for pair in picked.sections), calls)
            notice = f"The model could not search the outline ({picked.failed or 'nothing chosen'}); searched by words."
        hits = self.shelf.search(query, 5)
        text = "\n\n".join(_render_section(hit.document, hit.section, hit.span) for hit in hits)
        return ToolAnswer(text or "Nothing in the documents has these words.", calls, notice)

    def _facts(self, name: str) -> ToolAnswer:
        found = self.case.under(name)
        if found:
            return ToolAnswer(self.show(found))
        if name == "documents" and self.case.notes:
            return ToolAnswer("\n\n".join(render_note(*note) for note in self.case.notes))
        close = difflib.get_close_matches(name, self.case.fields, 5, 0.5)
        return ToolAnswer(_json({"found": False, "problem": f"The case has no field {name!r}.", "similar": close}))

    def show(self, fields: Iterable[str]) -> str:
        """Their values as JSON; from now on they count as read."""
        shown = {name: self.case.fields[name].to_json() for name in fields}
        self.read.update(shown)
        return _json(shown)

    def _tighten(self, reference: str, query: str) -> ToolAnswer | Refusal:
        found = self.shelf.find(reference)
        if found is None:
            return Refusal(f"There is no section {reference!r}. Use document#section as policy_search shows it.")
        document, section = found
        spans = self.shelf.tighten(section, document, query)
        if not spans:
            return ToolAnswer("No sentence of this section has these words.")
        return ToolAnswer("\n".join(f"- {document.quote(span)}" for span in spans))


def render_note(name: str, text: str, longest: int = _NOTE_SHOWN) -> str:
    """A free text of the case."""
    cut = f"{text[:longest]}… (there is more)" if len(text) > longest else text
    return f"[{name or 'text'}]\n{cut}"


def _render_section(document: KnowledgeDocument, section: DocumentSection, span: TextSpan) -> str:
    text = document.quote(span)
    page = f", page {document.page_of(span.start)}" if document.pages else ""
    head = f"[{document.id}#{mark_section(section)}] {' › '.join(section.path) or document.title}{page}"
    if len(text) > _SECTION_SHOWN:
        text = f"{text[:_SECTION_SHOWN]}… (there is more: spans_tighten)"
    parts = "".join(f"\n  part [{document.id}#{mark_section(child)}] {child.title}" for child in section.children[:12])
    return f"{head}\n{text.strip()}{parts}"


def _json(value: object) -> str:
    return orjson.dumps(value).decode()
