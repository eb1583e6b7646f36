"""What the models are asked while reasoning: the conversation, the page, documents and results -> ModelRequest.

What others wrote goes in as blocks of data: every line of it is marked, and none of it stands among our own words.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from circumspect.policy.understanding.synthetic import as_data
from circumspect.prompts import prompt
from circumspect.values import Block, ChatMessage, JsonObject, Language, ModelRequest, Purpose, Screened
from circumspect.web.page import Page
from circumspect.web.reasoning.reason_forms import (
    ANALYSIS,
    COMPLETENESS,
    JUDGEMENT,
    analysis_schema,
    completeness_schema,
    judgement_schema,
)
from circumspect.web.reasoning.reasoned import KnownValue, Missing
from circumspect.web.search.results import WebResult

MOST_RESULTS, _MOST_TITLES = 8, 3
_RESULT, _KNOWLEDGE, _TITLE, _ADDRESS = 1200, 8000, 120, 200


@dataclass(frozen=True, slots=True)
class ReasoningContext:
    """What every request of a turn is about."""

    said: tuple[ChatMessage, ...]
    """The conversation; the newest message is the last."""
    page: Page | None
    knowledge: str
    language: Language
    language_name: str


def make_reasoning_context(
    screened: Screened, page: Page | None, knowledge: str, history: int, language_name: str
) -> ReasoningContext:
    """`history` is how many earlier messages are shown; `language_name` is how the language is called in English."""
    said = (*_recent(screened, history), ChatMessage("user", screened.incoming.text))
    return ReasoningContext(said, page, knowledge.strip()[:_KNOWLEDGE], screened.language, language_name)


def analysis_request(about: ReasoningContext) -> ModelRequest:
    words = prompt("reason_analyse")
    instructions = words.render(language=about.language_name)
    return replace(_request(about, "analyse", words.id, instructions, analysis_schema()), reading=ANALYSIS)


def judgement_request(
    about: ReasoningContext, queries: Iterable[str], left: int, results: Sequence[WebResult]
) -> ModelRequest:
    words = prompt("reason_evaluate")
    searched = "; ".join(f"“{as_data(one)}”" for one in queries)
    instructions = words.render(language=about.language_name, queries=searched, left=str(left))
    request = _request(about, "evaluate", words.id, instructions, judgement_schema(), results)
    return replace(request, reading=JUDGEMENT)


def completeness_request(
    about: ReasoningContext, missing: Iterable[Missing], results: Sequence[WebResult]
) -> ModelRequest:
    words = prompt("reason_verify")
    noted = ", ".join(as_data(one.field) for one in missing) or "nothing"
    instructions = words.render(language=about.language_name, missing=noted)
    request = _request(about, "verify", words.id, instructions, completeness_schema(), results)
    return replace(request, reading=COMPLETENESS)


def summary_request(about: ReasoningContext, results: Sequence[WebResult]) -> ModelRequest:
    words = prompt("reason_summary")
    instructions = words.render(language=about.language_name)
    return _request(about, "summarise", words.id, instructions, None, results, max_tokens=200)


def render_results(results: Sequence[WebResult]) -> str:
    """Search results as a model reads them."""
    return "\n".join(
        f"[{number}] {as_data(one.title)[:_TITLE]} ({as_data(one.url)[:_ADDRESS]})\n{_quotation(one.text[:_RESULT])}"
        for number, one in enumerate(results[:MOST_RESULTS], 1)
    )


def titles(results: Iterable[WebResult]) -> str:
    return "; ".join([as_data(one.title)[:_TITLE] for one in results][:_MOST_TITLES])


def findings(known: Iterable[KnownValue], results: Iterable[WebResult]) -> str:
    """For whoever drafts the action: what is known, and what the searches found."""
    lines = [f"Known: {as_data(one.field)}: {as_data(one.value)}" for one in known]
    if found := render_results(tuple(results)):
        lines += ["Found by searching:", found]
    return "\n".join(lines)


def _request(
    about: ReasoningContext,
    purpose: Purpose,
    prompt_id: str,
    instructions: str,
    schema: JsonObject | None,
    results: Sequence[WebResult] | None = None,
    max_tokens: int = 1024,
) -> ModelRequest:
    blocks = [
        Block("page", about.page.listing if about.page else "(no page)"),
        Block("documents", _quotation(about.knowledge) or "(nothing)"),
    ]
    if results is not None:
        blocks.append(Block("results", render_results(results) or "(nothing was found)"))
    return ModelRequest(
        purpose,
        prompt_id,
        instructions,
        about.said,
        tuple(blocks),
        schema=schema,
        language=about.language,
        max_tokens=max_tokens,
    )


def _quotation(text: str) -> str:
    """Every line begins with a mark that no heading of ours begins with."""
    return "\n".join(f"> {line}".rstrip() for line in text.splitlines())


def _recent(screened: Screened, most: int) -> list[ChatMessage]:
    if screened.incoming.talk:
        return [said for said in screened.incoming.talk[:-1] if said.role != "tool" and said.text][-most:]
    visible = [one for one in screened.opened.history if one.role != "internal" and one.content]
    return [ChatMessage("user" if one.role == "user" else "assistant", one.content) for one in visible[-most:]]
