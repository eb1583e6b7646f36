"""Did an action do what it should? (Expected, page before, page after) -> Verified.

The worst mistake here is to call a failure a success, so a success needs evidence that has to do with the element: an
error page, a complaint of the page's or a change somewhere else is none. A menu that opened is a success, and what it
offers comes along: the next step chooses from it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from circumspect.web.browser.addresses import below, has_arrived, is_front, same_site, split
from circumspect.web.browser.changes import MESSAGE, Changes, problem_in, text_of
from circumspect.web.browser.commit_clicks import form_of
from circumspect.web.browser.evidence import (
    USABLE,
    asks_to_sign_in,
    choices_of,
    complaints,
    describe_other_changes,
    fields_of,
    find_opened_instead,
    find_undecided,
    find_unproved_alert,
    has_kept_entries,
    has_opened_other,
    headline,
    holds,
    is_secret,
    is_still_working,
    looks_different,
    read_field_value,
    short,
    shows,
    shows_what_was_entered,
)
from circumspect.web.browser.expectations import DIALOGS, owners
from circumspect.web.browser.page_words import content, mentions
from circumspect.web.page import Expected, Page, Verified


def verify(expected: Expected, before: Page, after: Page) -> Verified:
    """What the action did, by the snapshots before and after it."""
    changes = Changes(before, after)
    found = _out_of_order(expected, changes) or _JUDGES[expected.kind](expected, changes)
    return replace(found, expected=expected.why)


def _out_of_order(expected: Expected, changes: Changes) -> Verified | None:
    """What makes every action a failure, whatever was expected of it."""
    if expected.kind == "done":
        return None
    if expected.element and expected.element not in changes.before.by_id:
        return _no(0.97, f"There is no element {expected.element} on the page.")
    after = changes.after
    problem = problem_in(after)
    if problem and (not problem_in(changes.before) or changes.has_new_address or after.status != changes.before.status):
        complaint = _complaint(expected, changes) or problem
        status = f" with status {after.status}" if after.status >= 400 else ""
        return _no(0.97, f'An error page came{status}: "{short(after.title or problem)}".', complaint)
    return None


def _verify_popup(expected: Expected, changes: Changes) -> Verified:
    if changes.has_new_address:
        return _no(0.95, f"The address changed to {changes.after.url}; nothing opened.")
    now = changes.find_after(expected.element)
    expanded = now.expanded if now else None
    items = [one for one in changes.new_elements if one.role in expected.appear]
    if not items and expanded:
        items = [one for one in changes.new_elements if one.role in USABLE]
    if items:
        other = find_opened_instead(expected.element, changes)
        if other is not None and not expanded:
            return _no(0.9, f'"{short(other.name)}" opened instead.')
        complaint = _complaint(expected, changes)
        if complaint and all(one.role in DIALOGS for one in items):
            return _no(0.85, "What opened is a complaint.", complaint)
        confidence = 0.97 if expanded else 0.9 if expanded is None else 0.7
        return _yes_with_choices(confidence, "It opened.", choices_of(items, changes), changes.after)
    if expanded:
        return _no(0.7, "It says that it is open, but there is nothing to choose from.")
    return _no_wanted_change(changes, "Nothing opened", _complaint(expected, changes))


def _verify_navigation(expected: Expected, changes: Changes) -> Verified:
    before, after = changes.before, changes.after
    if has_arrived(expected.url, after.url):
        if expected.url_changes is None:
            return _yes(0.7, "The page was open already.")
        part = split(expected.url).fragment
        if part and not part.startswith(("/", "!")) and has_arrived(before.url.partition("#")[0], after.url):
            return _yes(0.9, f"The page went to its part {part}.")
        unloaded = next((text_of(one) for one in changes.messages if mentions("not loaded", text_of(one))), "")
        if unloaded:
            return _no(0.8, f"{after.url} opened, but could not show what it is for.", unloaded)
        if not looks_different(changes):
            return _no(0.7, "The address changed, but the page shows what it showed before.")
        return _yes(0.97, f'{after.url} opened: "{short(after.title)}".')
    if not changes.has_new_address:
        return _no_wanted_change(changes, f"The address is still {after.url}", _complaint(expected, changes))
    if asks_to_sign_in(changes):
        return _no(0.9, f"The page asks to sign in, at {after.url}.", "Signing in is needed first.")
    if below(expected.url, after.url):
        return _yes(0.85, f'It led on to {after.url}: "{short(after.title)}".')
    link = before.by_id.get(expected.element)
    if link and content(link.name) and content(link.name) <= content(headline(after)):
        return _yes(0.75, f'It led on to {after.url}, which is called "{short(headline(after))}".')
    if is_front(expected.url) and same_site(expected.url, after.url):
        return _yes(0.75, f"The front page led on to {after.url}.")
    return _no(0.85, f"It led to {after.url} instead.")


def _verify_submission(expected: Expected, changes: Changes) -> Verified:
    before, after = changes.before, changes.after
    element = before.by_id[expected.element]
    complaint = _complaint(expected, changes)
    if complaint:
        return _no(0.95, "The page did not accept it.", complaint)
    if undecided := find_undecided(changes):
        return _no(0.6, f'It is not decided yet: the page says "{short(undecided)}".')
    if alert := find_unproved_alert(changes):
        return _no(0.7, "Nothing says that it worked.", alert)
    form = form_of(element, before)
    good = next((text_of(one) for one in changes.messages if mentions("succeeded", text_of(one))), "")
    if good:
        return _yes(0.95, f'The page says "{short(good)}".')
    if changes.has_new_address:
        if asks_to_sign_in(changes) and not mentions("signs out", element.name):
            return _no(0.85, f"The page asks to sign in, at {after.url}.", "Signing in is needed first.")
        if has_kept_entries(form, changes):
            return _no(0.6, f"The address changed to {after.url}, but the form came back as it was.")
        return _yes(0.85, f'It led to {after.url}: "{short(after.title)}".')
    dialogs = [one for one in changes.new_elements if one.role in DIALOGS]
    if dialogs:
        return _yes_with_choices(0.8, f'"{short(dialogs[0].name)}" asks first.', choices_of(dialogs, changes), after)
    if changes.is_empty:
        missing = [one for one in fields_of(form, before) if one.required and not one.value and one.checked is not True]
        names = ", ".join(f'"{short(one.name)}"' for one in missing)
        return _no(0.95, "Nothing changed.", f"Required and empty: {names}." if missing else "")
    if any(gone not in after.by_id for gone in expected.disappear):
        return _yes(0.75, "What was submitted is gone from the page, which did not complain.")
    lines = (*changes.new_headlines, *changes.new_lines)
    told = next((line for line in lines if len(line) < MESSAGE and mentions("succeeded", line)), "")
    if told:
        return _yes(0.8, f'The page says "{short(told)}".')
    if is_still_working(element.id, changes):
        return _no(0.7, "It is still working.")
    if shows_what_was_entered(form, changes):
        return _yes(0.8, "What was entered is now on the page.")
    related = changes.describe_related(element.id)
    if related and (form is None or form.method.lower() != "post"):
        return _yes(0.7, _sentence(related))
    said = next((text_of(one) for one in changes.messages), "")
    return _no(0.6, "Nothing says that it worked." + (f' The page says "{short(said)}".' if said else ""))


def _verify_value(expected: Expected, changes: Changes) -> Verified:
    wanted = expected.attributes["value"]
    was, now = changes.before.by_id[expected.element], changes.find_after(expected.element)
    if now is None:
        if changes.has_new_address and expected.action == "select":
            return _yes(0.6, f"The choice led to {changes.after.url}.")
        return _no(0.8, "The field is gone.")
    if now.invalid and not was.invalid:
        complaint = now.description or _complaint(expected, changes)
        return _no(0.85, f'The field does not accept it; it holds "{short(now.value)}".', complaint)
    if is_secret(now) or is_secret(was):
        if bool(now.value) != bool(wanted):
            return _no(0.95, "The field is empty." if wanted else "The field is not empty.")
        return _yes(
            0.6 if was.value and now.value else 0.85, "The field holds something." if wanted else "It is empty."
        )
    confidence = holds(now.value, wanted)
    if confidence:
        offered = [one for one in changes.new_elements if one.role == "option"]
        held = f'It holds "{short(now.value)}".'
        return _yes_with_choices(confidence, held, choices_of(offered, changes), changes.after)
    if was.value == now.value:
        return _no(0.95, f'It still holds "{short(now.value)}".', _complaint(expected, changes))
    return _no(0.95, f'It holds "{short(now.value)}" instead of "{short(wanted)}".', _complaint(expected, changes))


def _verify_state(expected: Expected, changes: Changes) -> Verified:
    (name, wanted), *_ = expected.attributes.items()
    was, now = changes.before.by_id[expected.element], changes.find_after(expected.element)
    complaint = _complaint(expected, changes)
    if complaint:
        return _no(0.85, "The page complained.", complaint)
    if name == "focused":
        if changes.after.focused == expected.element or (now and now.expanded and not was.expanded):
            return _yes(0.9, "The cursor is in it.")
        return _no(0.8, "The cursor is not in it.")
    if now is None:
        if changes.has_new_address and was.role == "tab":
            return _yes(0.6, f"It led to {changes.after.url}.")
        return _no(0.8, "The element is gone.")
    state = str(getattr(now, name)).lower()
    if state != wanted:
        return _no_wanted_change(changes, f"It is still {name}={state}")
    if str(getattr(was, name)).lower() == wanted:
        return _yes(0.9, f"It was {name}={wanted} already.")
    brings_something = wanted == "true" and (name == "expanded" or was.role == "tab")
    if brings_something and has_opened_other(now, changes):
        return _no(0.65, f"It says {name}={wanted}, but something else opened.")
    if brings_something and not looks_different(changes):
        return _no(0.65, f"It says {name}={wanted}, but the page shows what it showed before.")
    return _yes(0.95, f"It is {name}={wanted} now.")


def _verify_choice(expected: Expected, changes: Changes) -> Verified:
    before, after = changes.before, changes.after
    chosen = before.by_id[expected.element]
    complaint = _complaint(expected, changes)
    if complaint:
        return _no(0.9, "The page complained.", complaint)
    if changes.has_new_address:
        return _yes(0.85, f"It led to {after.url}.")
    if all(one in after.by_id for one in expected.disappear):
        now = after.by_id.get(chosen.id, chosen)
        states = (
            (str(getattr(now, name)), str(getattr(chosen, name)), wanted)
            for name, wanted in expected.attributes.items()
        )
        if any(state.lower() == wanted != old.lower() for state, old, wanted in states):
            return _yes(0.9, "It is chosen; the list is still open.")
        return _no(0.9, "The list is still open.")
    popup = before.by_id[expected.disappear[0]]
    holders = list(owners(popup, before))
    shown = read_field_value(holders, changes) if chosen.role == "option" else ""
    if shown:
        told = f'"{short(holders[0].name)}" now shows "{short(shown)}".'
        return _yes(0.97, told) if shows(shown, chosen.name) else _no(0.9, told)
    rest = describe_other_changes(chosen, popup, holders, changes)
    if rest:
        return _yes(0.85, f"It closed, and {rest}.")
    return _no(0.65, "It closed, but nothing else changed.")


def _verify_dismissal(expected: Expected, changes: Changes) -> Verified:
    complaint = _complaint(expected, changes)
    if complaint:
        return _no(0.85, "The page complained.", complaint)
    if changes.has_new_address and expected.url_changes is False:
        return _no(0.85, f"The address changed to {changes.after.url}.")
    now = changes.find_after(expected.element)
    closed = any(one not in changes.after.by_id for one in expected.disappear)
    folded = now is not None and now.expanded is False and "expanded" in expected.attributes
    if closed or (folded and not expected.disappear):
        return _yes(0.95, "It closed.")
    return _no_wanted_change(changes, "It is still open")


def _verify_key(expected: Expected, changes: Changes) -> Verified:
    complaint = _complaint(expected, changes)
    if complaint:
        return _no(0.85, "The page complained.", complaint)
    before, after = changes.before, changes.after
    if "value" in expected.attributes:
        was, now = before.by_id[expected.element], changes.find_after(expected.element)
        if now and was.value != now.value:
            return _yes(0.9, f'It holds "{short(now.value)}" now.')
        return _no_wanted_change(changes, "Its value is the same")
    if after.focused and before.focused != after.focused:
        focused = after.by_id.get(after.focused)
        return _yes(0.9, f'The cursor is now in "{short(focused.name if focused else after.focused)}".')
    if "focused" in expected.attributes:
        return _no(0.8, "The cursor did not move.")
    return _verify_effect(expected, changes)


def _verify_scroll(expected: Expected, changes: Changes) -> Verified:
    down = expected.attributes["direction"] == "down"
    before, after = changes.before.scroll[1], changes.after.scroll[1]
    if after != before:
        moved = f"The page moved {'down' if after > before else 'up'} by {abs(after - before)} pixels."
        return _yes(0.95, moved) if (after > before) == down else _no(0.9, moved)
    if expected.element and (changes.new_elements or changes.removed_elements or changes.new_text):
        return _yes(0.75, "Something else came into sight.")
    return _no(0.6 if expected.element else 0.95, "It did not move: it may be at its end.")


def _verify_wait(expected: Expected, changes: Changes) -> Verified:
    complaint = _complaint(expected, changes)
    if complaint:
        return _no(0.85, "The page complained.", complaint)
    if changes.after.busy:
        return _no(0.9, "The page is still working.")
    if changes.before.busy:
        return _yes(0.95, "The page has finished working.")
    return _yes(0.7, "Nothing new came." if changes.is_empty else "The page changed.")


def _verify_done(expected: Expected, changes: Changes) -> Verified:
    return _yes(1.0, "Nothing more was done.")


def _verify_effect(expected: Expected, changes: Changes) -> Verified:
    complaint = _complaint(expected, changes)
    if complaint:
        return _no(0.9, "The page complained.", complaint)
    if changes.has_new_address:
        told = f"The address changed to {changes.after.url}."
        return _no(0.85, told) if expected.url_changes is False else _yes(0.8, told)
    if is_still_working(expected.element, changes):
        return _no(0.7, "It is still working.")
    related = changes.describe_related(expected.element)
    dialogs = [one for one in changes.new_elements if one.role in DIALOGS]
    if related:
        return _yes_with_choices(
            0.85 if dialogs else 0.75, _sentence(related), choices_of(dialogs, changes), changes.after
        )
    if changes.is_empty:
        return _no(0.95, "Nothing changed.")
    return _no(0.6, "Something changed elsewhere on the page, nothing that has to do with it.")


_JUDGES: Mapping[str, Callable[[Expected, Changes], Verified]] = {
    "popup": _verify_popup,
    "navigation": _verify_navigation,
    "submission": _verify_submission,
    "value": _verify_value,
    "state": _verify_state,
    "choice": _verify_choice,
    "dismissal": _verify_dismissal,
    "key": _verify_key,
    "scroll": _verify_scroll,
    "wait": _verify_wait,
    "done": _verify_done,
    "effect": _verify_effect,
}


def _complaint(expected: Expected, changes: Changes) -> str:
    return " ".join(complaints(expected, changes))


def _yes(confidence: float, happened: str, choices: tuple[str, ...] = ()) -> Verified:
    return Verified(True, confidence, "", happened, choices)


def _no(confidence: float, happened: str, error: str = "") -> Verified:
    return Verified(False, confidence, "", happened, error=short(error, 500))


def _yes_with_choices(confidence: float, happened: str, choices: tuple[str, ...], page: Page) -> Verified:
    """A success that offers something: the next step chooses from it."""
    names = [f'"{short(page.by_id[one].name or page.by_id[one].id, 40)}"' for one in choices]
    more = f" and {len(names) - 8} more" if len(names) > 8 else ""
    return _yes(confidence, f"{happened} It offers {', '.join(names[:8])}{more}." if names else happened, choices)


def _no_wanted_change(changes: Changes, told: str, error: str = "") -> Verified:
    if changes.is_empty:
        return _no(0.95, f"{told}; nothing changed.", error)
    return _no(0.85, f"{told}; something else changed.", error)


def _sentence(parts: list[str]) -> str:
    said = ", ".join(parts[:4])
    return f"{said[:1].upper()}{said[1:]}."
