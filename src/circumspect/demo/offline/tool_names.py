"""Tools and parameters in words: `cancel_order` is "cancel an order", `order_id` is an "order number", in any language.

Composed from the word lists. Where a name has parts that no list knows, the tool's own description speaks if it is
written in the right script, and else the name itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from circumspect.demo.offline.lexicon import concepts, is_written_in, say, words
from circumspect.demo.offline.request_view import OfferedTool, Param, meanings, pick_meaning, pieces
from circumspect.demo.offline.slot_kinds import aliases, choices, kind_of
from circumspect.values import Language

_NUMBERING = frozenset(("id", "ids", "number", "no", "nr", "code", "ref", "reference"))
_LONGEST = 60


def tool_words(tool: OfferedTool, language: Language) -> str:
    return _tool_words(tool.name, tool.action, tool.objects, tool.description, language)


@lru_cache(maxsize=1024)
def _tool_words(name: str, action: str | None, objects: tuple[str, ...], description: str, language: Language) -> str:
    lists = words(language)
    known = " ".join((*((action,) if action else ()), *objects))
    if known in lists.pairs:
        return lists.pairs[known]
    verb = lists.names.get(action or "check")
    if verb is not None and all(thing in concepts().things for thing in objects):
        forms = [lists.names[thing] for thing in objects]
        if not forms:
            return str(verb)
        if len(forms) == 1:
            return f"{verb} {forms[0][0]}"
        *front, head = forms
        attribute = " ".join(form[1] for form in front)
        return f"{verb} {say(language, 'compound', of=attribute, head=head[1], object=head[0])}"
    first = description.split(". ")[0].strip().rstrip(".")
    if first and is_written_in(first, language) and len(first) <= _LONGEST:
        return first[0].lower() + first[1:]
    return " ".join(pieces(name))


def tool_list(tools: tuple[OfferedTool, ...], language: Language) -> str:
    return "; ".join(dict.fromkeys(tool_words(tool, language) for tool in tools))


def describe_completion(tool: OfferedTool, language: Language) -> str:
    known = " ".join((*((tool.action,) if tool.action else ()), *tool.objects))
    return words(language).done.get(known) or say(language, "done")


def labels(tool: OfferedTool, language: Language) -> dict[str, str]:
    """What to call each parameter of a tool; two that would be called the same keep their own names."""
    named = {param.name: label(param, language) for param in tool.params}
    said = list(named.values())
    return {name: text if said.count(text) == 1 else " ".join(pieces(name)) for name, text in named.items()}


def label(param: Param, language: Language) -> str:
    """What to call a parameter, without its choices."""
    composed = name_words(param.name, language)
    if composed is not None:
        return composed
    for key in ("title", "description"):
        text = str(param.schema.get(key) or "").split(". ")[0].rstrip(".")
        if language != "en" and text and is_written_in(text, language) and len(text) <= _LONGEST:
            return text
    return " ".join(pieces(param.name))


def label_with_choices(param: Param, named: str, language: Language) -> str:
    """A parameter when asking for it: with its choices, if it has any."""
    if kind_of(param) != "choice":
        return named
    known = aliases(param)
    shown = [name_choice(str(choice), known, language) for choice in choices(param.schema)]
    return say(language, "ask_one_of", label=named, choices=", ".join(shown))


def name_choice(choice: str, known: Mapping[str, str], language: Language) -> str:
    """A choice as people say it in their language, if the tool tells."""
    alias = known.get(choice, "")
    return alias if alias and is_written_in(alias, language) else choice


@lru_cache(maxsize=2048)
def name_words(name: str, language: Language) -> str | None:
    """An identifier in words, or None when it has a part that no list knows."""
    names = words(language).names
    said = [piece for piece in pieces(name) if piece not in concepts().hollow or piece in _NUMBERING or meanings(piece)]
    numbered = bool(said) and said[-1] in _NUMBERING
    things = [_thing(piece) for piece in (said[:-1] if numbered else said)]
    if any(thing is None for thing in things) or (not things and not numbered):
        return None
    forms = [names[thing] for thing in things if thing is not None]
    if numbered:
        if not forms:
            return say(language, "unnamed_number")
        if things == ["phone"]:
            return str(forms[-1][-1])
        return say(language, "number_of", of=" ".join(form[1] for form in forms))
    *front, head = forms
    if not front:
        return str(head[-1])
    return say(language, "label_compound", of=" ".join(form[1] for form in front), head=head[-1])


def _thing(piece: str) -> str | None:
    found = meanings(piece) & concepts().things
    return pick_meaning(piece, found) if found else None
