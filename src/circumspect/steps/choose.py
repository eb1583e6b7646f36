"""choose: a message that names a record, in words that code cannot place -> the wish that the model takes it for.

A model that drafts nothing for "have mercy and make 12345 go away" can still tell which of four things is meant when
that is all it is asked. It picks from a closed list, code makes the call of the user's own values, the rules rule on it
and the user is asked: a wrong pick costs one question.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from circumspect.aside import compute_aside, weigh_tools
from circumspect.errors import ModelError
from circumspect.forms.making import make_choice, make_form
from circumspect.forms.reading import read_form
from circumspect.journal import Journal, RemarkEvent
from circumspect.policy.understanding.open_wishes import Wish, find_candidates
from circumspect.ports import Model
from circumspect.prompts import prompt
from circumspect.values import ChatMessage, JsonObject, ModelRequest, Screened, ToolSpec

_NONE = "none"


async def choose(
    screened: Screened, changing: Mapping[str, ToolSpec], business: str, notes: Journal, model: Model
) -> Wish | None:
    """None where there is nothing to choose from, where the model sees no wish, and where it fails."""
    if screened.answer != "other":
        return None
    text = screened.incoming.text
    candidates = await compute_aside(len(text) + weigh_tools(changing.values()), find_candidates, text, changing)
    if not candidates:
        return None
    request = _request(screened, candidates, changing, business)
    try:
        reply = await model.complete(request)
    except ModelError as problem:
        notes.add_usage(problem.usage)
        notes.write(RemarkEvent(f"the model failed: {problem.code}", "understanding"))
        return None
    notes.add_usage(reply.usage)
    picked = read_form(reply, request.schema or {}).get_text("wanted")
    notes.write(RemarkEvent(f"what the model takes the message for: {picked or 'unreadable'}", "understanding"))
    return next((one for one in candidates if one.tool == picked), None)


def _request(
    screened: Screened, candidates: Sequence[Wish], changing: Mapping[str, ToolSpec], business: str
) -> ModelRequest:
    words = prompt("choose")
    options = "\n".join(f"- {one.tool}: {changing[one.tool].description}" for one in candidates)
    return ModelRequest(
        purpose="choose",
        prompt_id=words.id,
        instructions=words.render(business=business, options=options),
        messages=(ChatMessage("user", screened.incoming.text),),
        schema=_form([one.tool for one in candidates]),
        language=screened.language,
        max_tokens=40,
        temperature=0.0,
    )


def _form(tools: Sequence[str]) -> JsonObject:
    return make_form({"wanted": make_choice([*tools, _NONE])})
