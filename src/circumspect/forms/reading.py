"""A form, read: what a model answered, and the form's schema -> the fields it filled in, and what had to be mended.

Keys are matched, values are made to fit, what is not of the form is left out. A field that was filled in twice and
differently, in one object or in two, is not filled in.

The one choice that may surprise: `exact` forms. Where a field permits something, a text that is broken anywhere says
nothing at all: what was cut off may have been the condition.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from circumspect.forms.answers import Answer, find_answers
from circumspect.forms.fitting import UNFIT, Unfit, fit, fold_key
from circumspect.values import FormRules, Json, JsonObject, ModelReply

_WRAPPERS = ("arguments", "parameters", "properties", "response", "result", "output", "answer", "form", "data", "json")
_DEEPEST = 3
_HOW = {
    "found": "found among other words",
    "cut": "cut off",
    "guessed": "broken, and repaired",
    "lines": "read from labelled lines",
}
_SHOWN = 40


@dataclass(frozen=True, slots=True)
class FilledForm:
    """What a form says. A field that is not there was not filled in, or not so that it can be read."""

    fields: Mapping[str, Json] = field(default_factory=dict)
    mendings: tuple[str, ...] = ()
    unread: frozenset[str] = frozenset()
    """Fields in which something stands that cannot be read."""

    def get(self, name: str) -> Json:
        return self.fields.get(name)

    def is_mended(self, name: str) -> bool:
        return any(line.startswith(f"{name}: ") for line in self.mendings)

    def get_text(self, name: str) -> str:
        said = self.fields.get(name)
        return said if isinstance(said, str) else ""

    def get_number(self, name: str, otherwise: float) -> float:
        said = self.fields.get(name)
        return float(said) if isinstance(said, int | float) and not isinstance(said, bool) else otherwise

    def get_list(self, name: str) -> tuple[str, ...]:
        said = self.fields.get(name)
        return tuple(item for item in said if isinstance(item, str)) if isinstance(said, list) else ()

    def get_objects(self, name: str) -> tuple[FilledForm, ...]:
        said = self.fields.get(name)
        listed = said if isinstance(said, list) else [said]
        return tuple(FilledForm(item) for item in listed if isinstance(item, Mapping))


def read_form(reply: ModelReply | str, schema: JsonObject, rules: FormRules | None = None) -> FilledForm:
    """The form as far as it can be read; an empty one where nothing can."""
    rules = rules or FormRules()
    found = list(_answers(reply, schema))
    if rules.exact and any(one.form in ("cut", "guessed") for one in found):
        return FilledForm(mendings=("broken off, and not read",))
    keys = _keys(schema, rules)
    unwrapped = [_unwrap(one, keys, schema) for one in found]
    forms = [_fill_in(one, schema, rules) for one in unwrapped if not keys or one.doubted or _speaks(one.members, keys)]
    earlier = () if isinstance(reply, str) else reply.mendings
    return _combine(forms, schema, earlier)


def _properties(schema: JsonObject) -> dict[str, JsonObject]:
    said = schema.get("properties")
    return {name: one for name, one in said.items() if isinstance(one, Mapping)} if isinstance(said, Mapping) else {}


def _keys(schema: JsonObject, rules: FormRules) -> frozenset[str]:
    """All keys that something of the form may stand under."""
    own = _properties(schema)
    return frozenset(own).union(*(others for name, others in rules.synonyms.items() if name in own))


def _speaks(members: Mapping[str, Json], keys: frozenset[str]) -> bool:
    return any(key in keys or fold_key(key) in keys for key in members)


def _wrappers(schema: JsonObject) -> tuple[str, ...]:
    title = schema.get("title")
    return (*_WRAPPERS, title) if isinstance(title, str) else _WRAPPERS


def _answers(reply: ModelReply | str, schema: JsonObject) -> Iterator[Answer]:
    """The arguments of a call that was forced to carry the form; else what stands in the text."""
    if isinstance(reply, str):
        yield from find_answers(reply)
        return
    forced = [call for call in reply.calls if call.tool == schema.get("title")]
    for call in forced:
        yield Answer(dict(call.arguments), "plain")
    if not forced:
        yield from find_answers(reply.text)


def _unwrap(answer: Answer, keys: frozenset[str], schema: JsonObject) -> Answer:
    """The object inside, where what is around it is only its name."""
    members = answer.members
    for _ in range(_DEEPEST):
        if _speaks(members, keys):
            break
        inside = [one for key, one in members.items() if key in _wrappers(schema) and isinstance(one, Mapping)]
        if len(inside) != 1:
            break
        members = dict(inside[0])
    return replace(answer, members=members)


def _fill_in(answer: Answer, schema: JsonObject, rules: FormRules) -> FilledForm:
    kinds = _properties(schema)
    mendings = [_HOW[answer.form]] if answer.form in _HOW else []
    said, doubted, rest = _match_keys(answer, kinds)
    folded = ((fold_key(key), key) for key in answer.members if key not in kinds)
    mendings += [f"{name}: called {key[:_SHOWN]}" for name, key in folded if name in kinds]
    for name, others in rules.synonyms.items():
        other = next((one for one in others if one in rest), None)
        if name in kinds and name not in said and other is not None:
            said[name] = rest[other]
            mendings.append(f"{name}: called {other}")
    fields: dict[str, Json] = {}
    unread: set[str] = set()
    for name, value in said.items():
        other = rules.other_words.get(name, {}).get(fold_key(value)) if isinstance(value, str) else None
        fitted = UNFIT if name in doubted else fit(other or value, kinds[name])
        if not isinstance(fitted, Unfit):
            fields[name] = fitted
            if fitted != value:
                mendings.append(f"{name}: {_quote(value)} read as {_quote(fitted)}")
        elif name in doubted:
            unread.add(name)
            mendings.append(f"{name}: said twice, and differently")
        elif value is not None:
            unread.add(name)
            mendings.append(f"{name}: cannot be read: {_quote(value)}")
    used = {one for others in rules.synonyms.values() for one in others}
    if schema.get("additionalProperties") is False:
        mendings += [f"{key[:_SHOWN]}: not of the form" for key in rest if key not in used]
    else:
        fields |= rest
    return FilledForm(fields, tuple(mendings), frozenset(unread))


def _match_keys(answer: Answer, kinds: Mapping[str, JsonObject]) -> tuple[dict[str, Json], set[str], dict[str, Json]]:
    """The values by field, the fields that were filled in twice and differently, and what is under other keys."""
    said: dict[str, Json] = {}
    rest: dict[str, Json] = {}
    doubted = {name for key in answer.doubted if (name := fold_key(key)) in kinds}
    for name in doubted:
        said[name] = None
    for key, value in answer.members.items():
        name = key if key in kinds else fold_key(key)
        if name not in kinds:
            rest[key if kinds == {} else name] = value
        elif name in said and said[name] != value:
            doubted.add(name)
        else:
            said[name] = value
    return said, doubted, rest


def _combine(forms: Sequence[FilledForm], schema: JsonObject, earlier: Sequence[str]) -> FilledForm:
    """One form of several. What two of them fill in differently, neither does."""
    fields: dict[str, Json] = {}
    unread = frozenset[str]().union(*(one.unread for one in forms))
    differing = {name for one in forms for name in one.fields if name in unread}
    for one in forms:
        for name, value in one.fields.items():
            if fields.setdefault(name, value) != value:
                differing.add(name)
    fields = {name: value for name, value in fields.items() if name not in differing}
    mendings = [*earlier, *(line for one in forms for line in one.mendings)]
    mendings += [f"{name}: two answers differ" for name in sorted(differing)]
    told = {line.partition(":")[0] for line in mendings}
    required = schema.get("required")
    wanted = [name for name in required if isinstance(name, str)] if isinstance(required, Sequence) else []
    absent = [name for name in wanted if name not in fields and name not in told]
    if absent and fields:
        mendings.append(f"not filled in: {', '.join(absent)}")
    return FilledForm(fields, tuple(dict.fromkeys(mendings)), unread)


def _quote(value: Json) -> str:
    text = str(value)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
