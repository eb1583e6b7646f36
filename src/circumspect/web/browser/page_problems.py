"""What goes wrong in a browser, in one sentence for people: an error of Playwright's -> words.

What was typed is never in them, nor the query of an address: both may be secret.
"""

from __future__ import annotations

import re

from circumspect.web.browser.addresses import strip_secrets

_NET = {
    "ERR_CONNECTION_REFUSED": "Nothing answers at {}.",
    "ERR_NAME_NOT_RESOLVED": "There is no host of that name: {}.",
    "ERR_INTERNET_DISCONNECTED": "There is no connection, so {} could not be opened.",
    "ERR_CONNECTION_TIMED_OUT": "{} did not answer in time.",
    "ERR_TOO_MANY_REDIRECTS": "{} leads round in a circle.",
    "ERR_ABORTED": "{} is not a page: it may be a download, which is refused.",
    "ERR_INVALID_URL": "{} is not an address.",
}
_TROUBLES = {
    "intercepts pointer events": "Something lies over the element, so it cannot be clicked.",
    "not an <input>": "The element is not a field that can be typed into.",
    "Input of type": "The element is not a field that can be typed into.",
    "Malformed value": "The field does not take a value of this form.",
    "Cannot type text into": "The field does not take text: it wants a number.",
    "not editable": "The field can only be read.",
    "element is not enabled": "The element is disabled.",
    "element is not visible": "The element cannot be seen.",
    "outside of the viewport": "The element lies outside of the window.",
    "not attached": "The element is not on the page any more.",
    "Unknown key": "There is no key of that name.",
    "did not find some options": "That option is not offered.",
    "has been closed": "The page was closed.",
    "Timeout": "The page did not react in time.",
}


def not_opened(url: str, failure: Exception) -> str:
    code = re.search(r"\bERR_[A-Z_]+", str(failure))
    known = _NET.get(code[0]) if code else None
    if known is None and code and "CERT" in code[0]:
        known = "The certificate of {} is not valid, so it was not opened."
    why = code[0] if code else first_line(failure)
    return known.format(strip_secrets(url)) if known else f"{strip_secrets(url)} could not be opened: {why}"


def sentence_of(failure: Exception) -> str:
    """What Playwright says at length, in one sentence. What was typed is never in it."""
    said = str(failure)
    for sign, sentence in _TROUBLES.items():
        if sign in said:
            return sentence
    return f"The browser could not do it: {first_line(failure)}"


def first_line(failure: Exception) -> str:
    return str(failure).strip().partition("\n")[0].split("Call log")[0][:200]
