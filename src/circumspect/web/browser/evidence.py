"""What speaks for an action having worked, and what against it: small questions about the changes on a page."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from circumspect.web.browser.changes import MESSAGE, Changes, text_of
from circumspect.web.browser.commit_clicks import around, form_of
from circumspect.web.browser.expectations import DIALOGS, FIELDS
from circumspect.web.browser.page_words import complains, has_common_word, mentions
from circumspect.web.page import Element, Expected, Page

USABLE = FIELDS | {
    "button", "link", "menuitem", "menuitemcheckbox", "menuitemradio", "option", "treeitem", "gridcell", "checkbox",
    "radio", "switch", "tab",
}  # fmt: skip
_HIDDEN = "•••"
_LONGEST_SHOWN = 300
_SEPARATED = re.compile(r"[\d\s()/+-]{6,}")
_GROUPED = re.compile(r"-?\d{1,3}(,\d{3})+(\.\d+)?")
_NEAR = 5
_BARE = 12
"""Words of a page that has no room for anything but its message."""
_TOP = 4
"""So many lines at the head of a page may be a message to whoever has just sent a form."""


def complaints(expected: Expected, changes: Changes) -> list[str]:
    """What the page says against it, in its own words: fields that it marks, messages, and lines beside the form."""
    return list(dict.fromkeys(_short_all(_complaints(expected, changes))))


def _complaints(expected: Expected, changes: Changes) -> Iterator[str]:
    before, after = changes.before, changes.after
    submitted = expected.kind == "submission"
    form = form_of(before.by_id[expected.element], before) if expected.element in before.by_id else None
    came_back = form is not None and form.id in after.by_id
    for one in after.elements:
        was = before.by_id.get(one.id)
        still_wrong = submitted and came_back and form is not None and one.form == form.id
        if one.invalid and (still_wrong or was is None or not was.invalid):
            yield one.description or f'"{one.name}" is not valid.'
    for one in changes.messages:
        if complains(text_of(one)):
            yield text_of(one)
    yield from (text for text in map(_words_of(changes), _new_dialogs(changes)) if complains(text))
    if submitted and (came_back or not changes.has_new_address):
        yield from filter(complains, (*changes.new_headlines, *changes.new_lines))
    elif expected.kind in ("effect", "choice") and not changes.has_new_address:
        # What such a click brings to light may speak of anything: there only what can hardly be meant otherwise counts.
        only_words = not (changes.new_elements or changes.removed_elements or changes.changed_elements)
        for line in changes.new_lines:
            told = complains(line) if only_words else mentions("refused", line) or mentions("not loaded", line)
            if told and len(line) < MESSAGE:
                yield line
    elif submitted:
        yield from (line for line in read_first_lines(changes) if mentions("refused", line))


def read_first_lines(changes: Changes) -> list[str]:
    """What a page says at its head to whoever has just sent a form. One word among the text is a link or a label, and
    so are two, unless the page says next to nothing else."""
    least = 2 if len(changes.after.text.split()) <= _BARE else 3
    lines = [line for line in changes.new_lines[:_TOP] if len(line.split()) >= least]
    return [*changes.new_headlines, *lines]


def find_undecided(changes: Changes) -> str:
    """What the page says that has to come first, where nothing is decided yet."""
    said = (*(text_of(one) for one in changes.messages), *read_first_lines(changes))
    return next((line for line in said if mentions("undecided", line)), "")


def find_unproved_alert(changes: Changes) -> str:
    """An alert that does not say that it worked. Words that no list knows are bad news until something says more."""
    alerts = (text_of(one) for one in changes.messages if one.role == "alert")
    return next((text for text in alerts if not mentions("succeeded", text)), "")


def _new_dialogs(changes: Changes) -> list[Element]:
    return [one for one in changes.new_elements if one.role in DIALOGS]


def _words_of(changes: Changes) -> Callable[[Element], str]:
    """What a dialog says: its name and description, and the headings and messages in it."""

    def describe_dialog(dialog: Element) -> str:
        after = changes.after
        inside = [one for one in after.elements if dialog in around(one, after) and one.role not in USABLE]
        return ". ".join(dict.fromkeys(text_of(one) for one in (dialog, *inside)))

    return describe_dialog


def choices_of(items: Iterable[Element], changes: Changes) -> tuple[str, ...]:
    """What can be chosen now: the items of the popup, or everything that can be used in a dialog."""
    shown = [one for one in items if not one.disabled]
    dialogs = {one.id for one in shown if one.role in DIALOGS}
    if dialogs:
        after = changes.after
        inside = (one for one in after.elements if any(over.id in dialogs for over in around(one, after)))
        return tuple(one.id for one in inside if one.role in USABLE and not one.disabled)
    cells = [one for one in shown if one.role != "row"]
    return tuple(one.id for one in cells or shown)


def find_opened_instead(element: str, changes: Changes) -> Element | None:
    """Something else that opened at the same time."""
    flipped = (now for was, now in changes.changed_elements if now.expanded and not was.expanded and now.id != element)
    return next(flipped, None)


def has_opened_other(element: Element, changes: Changes) -> bool:
    """It says that it is open, and what opened belongs to something else."""
    panels = [one for one in changes.new_elements if one.role == "tabpanel"]
    if element.role == "tab" and panels:
        return all(one.id != element.controls and one.name != element.name for one in panels)
    return find_opened_instead(element.id, changes) is not None


def describe_other_changes(chosen: Element, popup: Element, holders: Iterable[Element], changes: Changes) -> str:
    """What changed besides the popup's closing, in words; nothing where that was all."""
    before = changes.before
    own = {one.id for one in holders}
    at = next(place for place, one in enumerate(before.elements) if one.id == popup.id)
    beside = {one.id for one in before.elements[max(0, at - _NEAR) : at] if one.inside == popup.inside}
    last = max(place for place, one in enumerate(before.elements) if one is popup or popup in around(one, before))
    beside |= {one.id for one in before.elements[last + 1 : last + 1 + _NEAR] if one.inside == popup.inside}
    for one in changes.messages:
        if mentions("succeeded", text_of(one)) or has_common_word(text_of(one), chosen.name):
            return f'the page says "{short(text_of(one))}"'
    for was, now in changes.changed_elements:
        if now in changes.messages:
            continue
        held = (was.name, was.value, was.checked, was.selected, was.pressed)
        if held != (now.name, now.value, now.checked, now.selected, now.pressed):
            return f'the {now.role} "{short(now.name)}" changed'
        if now.id not in own and (was.expanded, was.disabled) != (now.expanded, now.disabled):
            return f'the {now.role} "{short(now.name)}" changed'
    for one in changes.new_elements:
        if one in changes.messages:
            continue
        return f'the {one.role} "{short(one.name)}" appeared'
    for one in changes.removed_elements:
        if one.id not in beside and one is not popup and popup not in around(one, before):
            return f'the {one.role} "{short(one.name)}" is gone'
    return f'the page says "{short(changes.new_text)}"' if changes.new_text else ""


def looks_different(changes: Changes) -> bool:
    """Other things can be seen than before. A link that is marked as the current one is not enough."""
    titled = changes.before.title != changes.after.title
    return bool(changes.new_elements or changes.removed_elements or changes.new_text or changes.messages) or titled


def asks_to_sign_in(changes: Changes) -> bool:
    """The page wants a password, and the one before did not."""
    wanted = [any(one.type == "password" for one in page.elements) for page in (changes.before, changes.after)]
    return wanted == [False, True]


def is_still_working(element: str, changes: Changes) -> bool:
    """The button says that it has not finished: "Saving…"."""
    was, now = changes.before.by_id.get(element), changes.find_after(element)
    return bool(was and now and was.name != now.name and mentions("still working", now.name))


def fields_of(form: Element | None, page: Page) -> list[Element]:
    return [one for one in page.elements if form is not None and one.form == form.id]


def shows_what_was_entered(form: Element | None, changes: Changes) -> bool:
    """Something that was typed into the form can now be read elsewhere on the page."""
    typed = [one.value for one in fields_of(form, changes.before) if one.role in FIELDS and len(one.value) > 2]
    shown = [text_of(one) for one in changes.new_elements if one.role not in FIELDS] + [changes.new_text]
    return any(value in text for value in typed for text in shown if value != _HIDDEN)


def has_kept_entries(form: Element | None, changes: Changes) -> bool:
    """A form that was sent off and came back with all that was typed into it: it was not taken."""
    if form is None or form.method.lower() != "post" or form.id not in changes.after.by_id:
        return False
    typed = {one.id: one.value for one in fields_of(form, changes.before) if one.role in FIELDS and one.value}
    back = {one.id: one.value for one in fields_of(form, changes.after)}
    return bool(typed) and all(back.get(field) == value for field, value in typed.items() if value != _HIDDEN)


def headline(page: Page) -> str:
    first = next((one.name for one in page.elements if one.role == "heading"), "")
    return f"{page.title} {first}".strip()


def is_secret(field: Element) -> bool:
    return field.type == "password" or field.value == _HIDDEN


def holds(value: str, wanted: str) -> float:
    """How sure it is that the field holds what was wanted; 0 when it does not.

    A mask may add separators to a number ("0501234567", "050-123-4567") and a field may change the case. A point or a
    sign that came or went is another number.
    """
    value, wanted = " ".join(value.split()), " ".join(wanted.split())
    if value == wanted:
        return 0.98
    if not value or not wanted:
        return 0.0
    if value.casefold() == wanted.casefold():
        return 0.85
    if wanted.casefold() in [part.strip().casefold() for part in value.split(",")] and not wanted.isdigit():
        return 0.85
    if len(value) == _LONGEST_SHOWN and wanted.startswith(value):
        return 0.6
    if _number(value) is not None and _number(value) == _number(wanted):
        return 0.9
    return 0.85 if _same_digits(value, wanted) else 0.0


def read_field_value(holders: Iterable[Element], changes: Changes) -> str:
    """What the field that opened the list holds now: its value, or its name where that is new."""
    for holder in holders:
        now = changes.find_after(holder.id)
        if now is None:
            alike = (one for one in changes.new_elements if (one.role, one.haspopup) == (holder.role, holder.haspopup))
            return next((one.value or one.name for one in alike), "")
        if now.value:
            return now.value
        if now.name != holder.name:
            return now.name
    return ""


def shows(shown: str, chosen: str) -> bool:
    """Whether a field shows what was chosen: wholly, or behind a label ("Sort by: Newest")."""
    shown, chosen = " ".join(shown.split()).casefold(), " ".join(chosen.split()).casefold()
    return shown.endswith(f": {chosen}") or chosen in [part.strip() for part in shown.split(",")]


def short(text: str, most: int = 80) -> str:
    flat = " ".join(text.split()).replace('"', "'")
    return flat if len(flat) <= most else flat[: most - 1] + "…"


def _same_digits(value: str, wanted: str) -> bool:
    """The same digits with other separators, and with no sign in front that was not there."""
    if not _SEPARATED.fullmatch(value) or value[0] == "-" != wanted[0]:
        return False
    return bool(re.fullmatch(r"[\d\s()/+-]+", wanted)) and re.sub(r"\D", "", value) == re.sub(r"\D", "", wanted)


def _number(text: str) -> float | None:
    plain = text.replace(",", "") if _GROUPED.fullmatch(text) else text
    return float(plain) if re.fullmatch(r"-?\d+(\.\d+)?", plain) and len(plain) < 16 else None


def _short_all(texts: Iterable[str]) -> Iterator[str]:
    return (short(text, 200) for text in texts if text.strip())
