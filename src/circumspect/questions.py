"""Questions: a call that only the user can complete or correct -> what they are asked, in our words.

What the model made up was not given: it is asked for like what is missing. Only a value that stands in the user's own
words is called wrong.
"""

from __future__ import annotations

from circumspect import wording
from circumspect.language.detection import is_in_another
from circumspect.language.doubts import asks_more
from circumspect.language.folding import fold
from circumspect.language.written_values import find_word
from circumspect.policy.grounding.untrue import find_untrue
from circumspect.reply_context import ReplyContext
from circumspect.values import Ask, Enforced, JsonObject, OutsideCall


def find_second_question(enforced: Enforced, desk: ReplyContext) -> str:
    """What the second opinion would have the user asked, where the user can read it, it claims nothing, and it asks for
    more than the yes that we ask for anyway."""
    if not enforced.doubt:
        return ""
    doubt = desk.name_plainly(wording.render_value(enforced.doubt))
    unfit = find_untrue(doubt, desk.language, ()) or is_in_another(doubt, desk.language, desk.screened.incoming.text)
    return doubt if doubt and asks_more(doubt) and not unfit else ""


def ask_in_words(ask: Ask, enforced: Enforced, desk: ReplyContext) -> str:
    """What only the user can say, in our words. What the model made up was not given: that is asked for, too."""
    if ask.words:
        return desk.say(ask.words)
    if ask.named:
        return desk.say("ask-form", fields=", ".join(map(wording.render_value, ask.named)))
    given = enforced.call.arguments
    wrong = {name: problem for name, problem in ask.invalid.items() if _is_users(name, problem, given, desk)}
    if wrong:
        return desk.say("ask-invalid", problems="; ".join(_doubt(*one, given, desk) for one in wrong.items()))
    known = enforced.spec.properties.keys() if enforced.spec and enforced.spec.properties else given.keys()
    missing = [name for name in dict.fromkeys((*ask.missing, *ask.invalid)) if name.partition(".")[0] in known]
    if not missing:
        return desk.say("ask-missing-more", action=desk.title(enforced.call.tool))
    at_gate = isinstance(desk.screened.incoming.errand, OutsideCall)  # nobody has heard there what it is about
    if len(missing) == 1 and not at_gate and (question := wording.ask_for(missing[0], desk.language)):
        kind, _, choices = ask.invalid.get(missing[0], "").partition(":")
        return desk.say("choose-one", question=question, choices=_list_choices(choices)) if kind == "enum" else question
    fields = ", ".join(wording.label(name, desk.language) for name in missing)
    return desk.say("ask-missing", action=desk.title(enforced.call.tool), fields=fields)


def _is_users(name: str, problem: str, given: JsonObject, desk: ReplyContext) -> bool:
    """The value that is wrong stands in the user's own words, or in none: only they can put it right."""
    if problem.startswith("ungrounded"):
        return False
    spoken = [one.content for one in desk.screened.opened.history if one.role == "user"]
    said = fold(" ".join((*spoken, desk.screened.incoming.text)))
    return problem == "condition" or name not in given or find_word(fold(str(given[name])), said) >= 0


def _doubt(name: str, problem: str, given: JsonObject, desk: ReplyContext) -> str:
    value = wording.show_value(given[name], desk.language) if name in given else ""
    wanted = _describe_expected(problem, desk)
    return desk.say("invalid-field", field=wording.label(name, desk.language), value=value, wanted=wanted)


def _list_choices(choices: str) -> str:
    return choices.replace("|", ", ")


def _describe_expected(problem: str, desk: ReplyContext) -> str:
    kind, _, detail = problem.partition(":")
    match kind, detail:
        case "format", "date" | "date-time" | "time" | "email" | "phone":
            return desk.say(f"wanted-{'date' if detail == 'date-time' else detail}")
        case "enum", choices:
            return desk.say("wanted-choice", choices=_list_choices(choices))
        case "type", "number" | "integer":
            return desk.say("wanted-number")
        case "condition", _:
            return desk.say("wanted-known")
        case _:
            return desk.say("wanted-other")
