"""What somebody else's agent wants to say -> what of it is so, held against what ran. No I/O and no model."""

from __future__ import annotations

from collections.abc import Sequence

from circumspect import wording
from circumspect.gating.deciding import GateSetup
from circumspect.gating.foreign_talk import ForeignTalk
from circumspect.gating.ruling import ReplyCheck
from circumspect.language import catalogue
from circumspect.language.detection import detect
from circumspect.policy.grounding.untrue import UntrueSentence, find_untrue
from circumspect.policy.keys.tool_policy import effect_of
from circumspect.values import Language


def check_words(setup: GateSetup, talk: ForeignTalk, text: str) -> ReplyCheck:
    users = [one.text for one in talk.utterances if one.speaker == "user"]
    language = detect(talk.words or text, None, setup.tenant.language)
    # Agents answer in languages that nobody spoke to them.
    read = dict.fromkeys((language, detect(text, None, language)))
    about = talk.session.past_calls, talk.specs, talk.waiting.values(), "\n".join(users), talk.words
    found = tuple({one.sentence: one for code in read for one in find_untrue(text, code, *about)}.values())
    return ReplyCheck(_leave_out(setup, talk, text, found, language) if found else text, found)


def _leave_out(
    setup: GateSetup, talk: ForeignTalk, text: str, found: Sequence[UntrueSentence], language: Language
) -> str:
    """What is left without what is not so; where that is nothing, what was really done."""
    for one in found:
        text = text.replace(one.sentence, "")
    if text := " ".join(text.split()):
        return text
    tools, tenant = talk.specs, setup.tenant.id
    done = [one.call for one in talk.session.past_calls if one.ok]
    changed = [one for one in done if effect_of(tools.get(one.tool), setup.policy.of(one.tool, tenant)) != "read"]
    if not changed:
        return catalogue.say(language, "claim-replaced")
    last = changed[-1]
    said = setup.policy.of(last.tool, tenant)
    action = wording.action(last, tools.get(last.tool), language, said.phrase if said else {})
    return catalogue.say(language, "done", action=action)
