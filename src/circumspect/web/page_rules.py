"""What is held against an action on a web page, besides what is held against every call.

The model names an element; the rules look at the page it is on. What cannot be undone is confirmed by the rules that
every destructive tool is under: a click that commits is the tool `submit` by the time it comes here.

What may surprise: on a page, where values come from is a stricter matter than elsewhere (a value is typed only when the
user said it), and who asked for an action is a looser one: every step of a task is a click that nobody named.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from urllib.parse import urlsplit

from circumspect.hashing import digest
from circumspect.language.folding import fold
from circumspect.language.pack import join_words, packs
from circumspect.language.written_values import find_word
from circumspect.language.yes_no import classify
from circumspect.policy.facts import Facts
from circumspect.policy.grounding.grounding_rules import GROUNDING_RULES, every_value_has_a_source
from circumspect.policy.judge import Rule, rule
from circumspect.policy.rules import RULES
from circumspect.reasons import ReasonCode
from circumspect.values import Allow, Ask, Confirm, Deny, Json, PastCall, Utterance, Verdict
from circumspect.web.browser.page_words import is_wholly
from circumspect.web.page import Element, Page

MOST_TRIES = 3
"""The first, and two other ways."""
_ON_AN_ELEMENT = ("click", "submit", "type", "select")


def page_of(facts: Facts) -> Page | None:
    """The page that the call acts on."""
    return facts.scene if isinstance(facts.scene, Page) else None


@rule(ReasonCode.ELEMENT_NOT_FOUND)
def the_element_is_there(facts: Facts) -> Verdict:
    """The element is on the page as it is now, is what it was when it was shown, and can be used."""
    page = page_of(facts)
    wanted = facts.call.arguments.get("element")
    if page is None:
        return Deny("There is no page to act on.")
    if not wanted and facts.call.tool == "press" and _acts(str(facts.call.arguments.get("key", ""))):
        return Deny("Say which element the key is pressed in: nobody knows where the focus is.")
    if not wanted and facts.call.tool not in _ON_AN_ELEMENT:
        return Allow()
    element = page.by_id.get(str(wanted))
    if element is None:
        return Deny(f"There is no element '{_short(wanted)}' on the page. Use an id from the list.")
    name = facts.call.arguments.get("name")
    if isinstance(name, str) and name != element.display_name:
        return Deny("The element is called something else by now. Look at the page again.")
    if element.disabled:
        return Deny(f"The element '{element.id}' is disabled. Something else has to be done first.")
    if facts.confirmed and facts.call.arguments.get("filled", "") != summarise_form(element, page):
        return Deny("The form holds something else by now than when the user said yes. Ask again.")
    return Allow()


@rule(ReasonCode.POPUP_OPEN)
def an_open_popup_comes_first(facts: Facts) -> Verdict:
    """After a menu, list or dialog was opened, the next step chooses from it or closes it."""
    page = page_of(facts)
    offered = _find_popup_choices(facts)
    if not offered or page is None or facts.call.tool in ("scroll", "wait", "navigate", "done"):
        return Allow()
    if facts.call.tool == "press":
        return Allow()
    element = page.by_id.get(str(facts.call.arguments.get("element")))
    if element is None or element.id in offered or {one.id for one in _around(element, facts)} & _insides(facts):
        return Allow()
    last = facts.session.past_calls[-1].call.arguments.get("element")
    if element.id == last:  # the way to close a menu is often the way it was opened
        return Allow()
    return Deny(f"A popup is open. Choose one of {', '.join(sorted(offered)[:20])}, or press Escape.")


@rule(ReasonCode.FORM_INCOMPLETE)
def the_form_is_complete(facts: Facts) -> Verdict:
    """Every required field of the form is filled in before it is sent; what only the user knows is asked of them."""
    page = page_of(facts)
    if facts.call.tool != "submit" or page is None:
        return Allow()
    element = page.by_id.get(str(facts.call.arguments.get("element")))
    if element is None or not element.form:
        return Allow()
    empty = [
        one.name or one.id
        for one in page.elements
        if one.form == element.form and one.required and not one.disabled and _is_empty(one)
    ]
    return Ask(named=tuple(dict.fromkeys(empty))) if empty else Allow()


@rule(ReasonCode.PASSWORD_FIELD)
def passwords_are_the_users_business(facts: Facts) -> Verdict:
    """A password is typed by the user, not by the agent: it would be in the record of the conversation."""
    page = page_of(facts)
    if facts.call.tool != "type" or page is None:
        return Allow()
    element = page.by_id.get(str(facts.call.arguments.get("element")))
    return Ask(words="ask-password") if element is not None and element.type == "password" else Allow()


@rule(ReasonCode.INVALID_PARAM)
def the_option_is_offered(facts: Facts) -> Verdict:
    """What is selected is one of the options that the element offers."""
    page = page_of(facts)
    if facts.call.tool != "select" or page is None:
        return Allow()
    element = page.by_id.get(str(facts.call.arguments.get("element")))
    if element is None or not element.options or facts.call.arguments.get("option") in element.options:
        return Allow()
    return Deny(f"'{_short(facts.call.arguments.get('option'))}' is not one of: {', '.join(element.options[:20])}.")


@rule(ReasonCode.TRIED_BEFORE)
def what_did_not_work_is_not_repeated(facts: Facts) -> Verdict:
    """The same action on the same element did not fail just before."""
    same = [one for one in _failures(facts) if one.call.tool == facts.call.tool and _aim(one.call) == _aim(facts.call)]
    if not same:
        return Allow()
    return Deny("This was tried and had no effect. Try another way, or ask the user.")


@rule(ReasonCode.TOO_MANY_TRIES)
def it_was_not_tried_in_vain_too_often(facts: Facts) -> Verdict:
    """After the first failure two other ways are tried, and then the user is asked."""
    if facts.confirmed or facts.call.tool in ("done", "wait"):
        return Allow()
    return Ask(words="ask-stuck") if len(_failures(facts)) >= MOST_TRIES else Allow()


@rule(ReasonCode.LEAVES_THE_SITE)
def it_stays_on_the_site(facts: Facts) -> Verdict:
    """An address on another site was named by the user, or the user says yes to it."""
    page = page_of(facts)
    target = _target(facts)
    if not target or page is None:
        return Allow()
    parts = urlsplit(target)
    if parts.scheme not in ("http", "https"):
        return Deny("Only http and https addresses are opened.")
    here, there = (urlsplit(page.url).hostname or "").lower(), (parts.hostname or "").lower()
    if facts.confirmed or there == here or there.endswith(f".{here}") or here.endswith(f".{there}"):
        return Allow()
    named = any(find_word(there.removeprefix("www."), fold(said.text)) >= 0 for said in _users(facts))
    return Allow() if named else Confirm()


@rule(ReasonCode.UNTRUSTED_SOURCE)
def an_address_was_given(facts: Facts) -> Verdict:
    """An address that is opened was said by the user or is that of a link on the page; one made up is asked about."""
    page = page_of(facts)
    if facts.call.tool != "navigate" or facts.confirmed or page is None:
        return Allow()
    url = str(facts.call.arguments.get("url") or "")
    if any(one.href == url for one in page.elements):
        return Allow()
    bare = fold(url.split("://")[-1].rstrip("/"))
    return Allow() if any(bare in fold(said.text) for said in _users(facts)) else Confirm()


@rule(ReasonCode.UNTRUSTED_SOURCE)
def the_page_gives_no_orders(facts: Facts) -> Verdict:
    """An action that a text on the page tells its reader to take, and that the user's words do not name, is asked."""
    page = page_of(facts)
    name = str(facts.call.arguments.get("name") or "")
    if facts.confirmed or page is None or facts.call.tool not in ("click", "submit", "select") or not name:
        return Allow()
    words = re.findall(r"\w{3,}", fold(name))
    if not words or any(find_word(word, fold(said.text)) >= 0 for said in _users(facts) for word in words):
        return Allow()
    order = re.compile(
        rf"(?<!\w){join_words(one.pages.command for one in packs())}\b[^.!?\n]{{0,60}}{re.escape(fold(name))}"
    )
    return Confirm() if any(order.search(fold(text)) for text in _prose(facts)) else Allow()


@rule(ReasonCode.DENIED_BY_USER)
def a_no_is_not_followed_by_a_click(facts: Facts) -> Verdict:
    """After a no, whatever it was the answer to, nothing is clicked that the user does not say yes to."""
    if facts.confirmed or facts.call.tool not in ("click", "submit", "press"):
        return Allow()
    if facts.call.tool == "press" and not _acts(str(facts.call.arguments.get("key", ""))):
        return Allow()
    said = next((one.text for one in reversed(_users(facts)) if one.text.strip()), "")
    return Confirm() if _begins_with_no(said) else Allow()


PAGE_RULES: tuple[Rule, ...] = (
    the_element_is_there,
    an_open_popup_comes_first,
    passwords_are_the_users_business,
    the_option_is_offered,
    what_did_not_work_is_not_repeated,
    it_was_not_tried_in_vain_too_often,
    the_form_is_complete,
    it_stays_on_the_site,
    an_address_was_given,
    the_page_gives_no_orders,
    a_no_is_not_followed_by_a_click,
)
RULES_FOR_PAGES: tuple[Rule, ...] = (
    *(one for one in RULES if one.name not in {rule.name for rule in GROUNDING_RULES}),
    every_value_has_a_source,
    *PAGE_RULES,
)


def _begins_with_no(said: str) -> bool:
    """ "No", "no, not that one", "stop", "cancel"."""
    first = re.split(r"[,;.!\n]", said.strip(), maxsplit=1)[0]
    return classify(first) == "deny" or is_wholly("dismisses", first)


def _acts(key: str) -> bool:
    """A key that may set something off where the focus is: all but those that only move or leave."""
    last = key.strip().lower().split("+")[-1].strip()
    return last not in ("escape", "esc", "tab", "home", "end", "pageup", "pagedown", "pgup", "pgdn") and (
        not last.startswith("arrow") and last not in ("up", "down", "left", "right")
    )


def summarise_form(element: Element, page: Page) -> str:
    """What the form that an element belongs to holds: this is what is sent, and what a yes is bound to."""
    if not element.form:
        return ""
    fields = [one for one in page.elements if one.form == element.form and one.id != element.id]
    held = [
        f"{one.name}: {one.value if one.checked is None else '✓'}"
        for one in fields
        if one.role not in ("button", "option", "form") and (one.checked or (one.checked is None and one.value))
    ]
    text = "; ".join(held)
    return text if len(text) <= 3_000 else f"{text[:2_900]}… ({digest(text)[:12]})"


def _aim(call: object) -> tuple[Json, ...]:
    arguments = getattr(call, "arguments", {})
    return tuple(arguments.get(name) for name in ("element", "text", "option", "url", "key", "on"))


def _failures(facts: Facts) -> list[PastCall]:
    """Actions without effect since the last that had one, or since the user last spoke."""
    found: list[PastCall] = []
    for event in reversed(facts.session.events):
        if isinstance(event, Utterance):
            if event.speaker == "user" and event.text:
                break
        elif event.ok:
            break
        else:
            found.append(event)
    return found


def _find_popup_choices(facts: Facts) -> frozenset[str]:
    """What the popup that the last action opened offers, as far as it is still on the page."""
    page = page_of(facts)
    ran = facts.session.past_calls
    if not ran or page is None or not isinstance(ran[-1].result, dict):
        return frozenset()
    choices = ran[-1].result.get("choices", ())
    return frozenset(str(one) for one in choices) & page.by_id.keys() if isinstance(choices, list) else frozenset()


def _around(element: Element, facts: Facts) -> Iterator[Element]:
    """The containers that an element is in, from the inside out."""
    page = page_of(facts)
    assert page is not None
    seen: set[str] = set()
    while element.inside and element.inside not in seen:
        seen.add(element.inside)
        found = page.by_id.get(element.inside)
        if found is None:
            return
        yield found
        element = found


def _insides(facts: Facts) -> frozenset[str]:
    """The popups themselves."""
    page = page_of(facts)
    assert page is not None
    known = page.by_id
    offered = [known[one] for one in _find_popup_choices(facts)]
    popups = {one.id for one in offered if one.role in ("dialog", "alertdialog")}
    return frozenset(popups | {one.inside for one in offered if one.inside})


def _is_empty(element: Element) -> bool:
    if element.role in ("checkbox", "switch"):
        return element.checked is False
    if element.role in ("textbox", "combobox", "searchbox", "spinbutton", "listbox"):
        return not element.value.strip()
    return False


def _target(facts: Facts) -> str:
    page = page_of(facts)
    if facts.call.tool == "navigate":
        return str(facts.call.arguments.get("url") or "")
    if facts.call.tool == "click" and page is not None:
        element = page.by_id.get(str(facts.call.arguments.get("element")))
        href = element.href if element else ""
        return href if href.startswith(("http:", "https:")) else ""
    return ""


def _users(facts: Facts) -> Sequence[Utterance]:
    said = [one for one in facts.session.utterances if one.speaker == "user"]
    return said or [Utterance("user", facts.words, 0)]


def _prose(facts: Facts) -> Iterator[str]:
    """What can be read on the page, apart from the names of things that can be clicked."""
    page = page_of(facts)
    assert page is not None
    yield page.text
    for one in page.elements:
        if one.role not in ("button", "link", "menuitem", "option", "tab"):
            yield one.name
        yield one.description


def _short(value: Json) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= 60 else text[:59] + "…"
