"""The words of a web page as an agent sees it: its elements, what an action on them should bring about, what it did.

A page comes from a live browser or from plain HTML (`browser/`), goes into a turn with the message, and is all that the
model and the rules know of the screen. Text in it was written by strangers: it is data, and it gives no orders.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, Literal

Popup = Literal["", "menu", "listbox", "tree", "grid", "dialog", "true"]
ActionKind = Literal["click", "submit", "type", "select", "navigate", "press", "scroll", "wait", "done"]

POPUP_ITEMS: Mapping[str, tuple[str, ...]] = {
    "menu": ("menuitem", "menuitemcheckbox", "menuitemradio"),
    "listbox": ("option",),
    "tree": ("treeitem",),
    "grid": ("gridcell", "row"),
    "dialog": ("dialog", "alertdialog"),
    "true": ("menuitem", "menuitemcheckbox", "menuitemradio"),
}
"""What appears when an element with this `haspopup` opens. `true` means a menu, as ARIA has it."""


@dataclass(frozen=True, slots=True)
class Element:
    """One thing on the page that a person could see or use.

    The id is stable: the same thing has it in the snapshot before and in the one after, and on the page loaded anew.
    """

    id: str
    role: str
    """ARIA role, explicit or implied: button, link, textbox, combobox, menuitem, heading, alert, dialog, …"""
    name: str = ""
    """Its accessible name."""
    value: str = ""
    """What a field holds. Never that of a password field, which shows only whether it is empty (`•••`)."""
    description: str = ""
    haspopup: Popup = ""
    expanded: bool | None = None
    checked: bool | None = None
    selected: bool | None = None
    pressed: bool | None = None
    disabled: bool = False
    required: bool = False
    invalid: bool = False
    href: str = ""
    """Where a link leads, absolute."""
    type: str = ""
    """The type of an input or button: text, password, date, email, submit, …"""
    options: tuple[str, ...] = ()
    """What a select offers."""
    inside: str = ""
    """Id of the nearest container that is an element itself: a dialog, menu, listbox, form, table row."""
    form: str = ""
    """Id of the form it belongs to."""
    method: str = ""
    """Of a form: get or post."""
    controls: str = ""
    """Id of the element that `aria-controls` or `aria-owns` names, where that is on the page."""

    @property
    def display_name(self) -> str:
        """What a person is told that it is: its name, or what else can be said of a thing without one."""
        return self.name or self.description or f"{self.role} {self.id}"

    @property
    def line(self) -> str:
        return self.line_on("")

    def line_on(self, origin: str) -> str:
        """As the model reads it on a page of this origin: the way on the same site, without a tail of parameters."""
        said = [f"[{self.id}]", self.role, f'"{_flat(self.name, 120)}"']
        if self.value:
            said.append(f'value="{_flat(self.value, 80)}"')
        if self.haspopup:
            said.append(f"haspopup={self.haspopup}")
        for name in ("expanded", "checked", "selected", "pressed"):
            state = getattr(self, name)
            if state is not None:
                said.append(f"{name}={str(state).lower()}")
        said += [name for name in ("disabled", "required", "invalid") if getattr(self, name)]
        if self.type and self.type not in ("text", "button", "checkbox", "radio"):
            said.append(f"type={self.type}")
        if self.href:
            here = bool(origin) and self.href.startswith(f"{origin}/")
            path, mark, query = (self.href.removeprefix(origin) if here else self.href).partition("?")
            said.append(f"href={_flat(path, 120)}{mark}{_flat(query, 20)}")
        if self.options:
            shown = ", ".join(_flat(one, 40) for one in self.options[:20])
            more = f", and {len(self.options) - 20} more" if len(self.options) > 20 else ""
            said.append(f"options=({shown}{more})")
        if self.description:
            said.append(f"({_flat(self.description, 120)})")
        if self.inside:
            said.append(f"in {self.inside}")
        return " ".join(said)


@dataclass(frozen=True)
class Page:
    """What is on the screen."""

    url: str
    title: str = ""
    elements: tuple[Element, ...] = ()
    """In reading order. Containers (dialog, menu, listbox, form) come before what is in them."""
    text: str = ""
    """What can be read on it besides the elements' names, shortened."""
    dropped: int = 0
    """How many elements were left out to keep it small."""
    focused: str = ""
    """Id of the element that has the focus."""
    scroll: tuple[int, int] = (0, 0)
    """How far it is scrolled, in pixels: across, down."""
    busy: bool = False
    """The page said that it was still working when this was taken (`aria-busy`, or requests under way)."""
    status: int = 200
    """The HTTP status it was delivered with; 0 where that is not known."""

    @cached_property
    def by_id(self) -> Mapping[str, Element]:
        return {one.id: one for one in self.elements}

    @property
    def address(self) -> str:
        """Without the query, which may say who is signed in and what they look for."""
        return self.url.split("?")[0]

    @property
    def listing(self) -> str:
        """As the model reads it: a line an element."""
        lines = [f"URL: {_flat(self.url, 200)}", f"Title: {_flat(self.title, 120)}"]
        origin = "/".join(self.url.split("/")[:3])
        lines += [one.line_on(origin) for one in self.elements]
        if self.dropped:
            lines.append(f"({self.dropped} more elements are not shown)")
        if self.text:
            lines.append(f"Text: {_flat(self.text, 2000)}")
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """What differs from the defaults, so that a stored page is small."""
        return {
            **_dump_fields(self, skip=("elements",)),
            "elements": [_dump_fields(one) for one in self.elements],
        }

    @classmethod
    def from_json(cls, document: Mapping[str, object]) -> Page:
        """The inverse of `to_json`. What it does not know is ignored: pages are stored, and their fields may grow."""
        stored = document.get("elements", ())
        elements = tuple(_read(Element, one) for one in stored if isinstance(one, Mapping)) if isinstance(
            stored, list | tuple
        ) else ()  # fmt: skip
        known = {one.name for one in fields(cls)} - {"elements"}
        rest = {name: value for name, value in document.items() if name in known}
        scroll = rest.get("scroll", (0, 0))
        if isinstance(scroll, list | tuple) and len(scroll) == 2:
            rest["scroll"] = (int(scroll[0]), int(scroll[1]))
        return cls(**rest, elements=elements)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Expected:
    """What an action should bring about, said by code before it is tried."""

    action: ActionKind
    kind: str
    """popup, navigation, submission, value, state, choice, dismissal, key, scroll, wait, done or effect."""
    why: str
    """One sentence in English, for people and for the model."""
    element: str = ""
    url_changes: bool | None = None
    """True: it must. False: it must not. None: either will do."""
    url: str = ""
    """Where it should lead, where that is known."""
    attributes: Mapping[str, str] = field(default_factory=dict)
    """Of the element acted on: `{"expanded": "true"}`, `{"value": "Ann"}`."""
    appear: tuple[str, ...] = ()
    """Roles, one of which should appear."""
    disappear: tuple[str, ...] = ()
    """Ids of which one at least should be gone: the popup that was chosen from, the dialog that was closed."""

    def to_json(self) -> dict[str, Any]:
        return _dump_fields(self)


@dataclass(frozen=True, slots=True)
class Verified:
    """What an action did, by the snapshots before and after it."""

    success: bool
    confidence: float
    expected: str
    """In words."""
    happened: str
    """In words."""
    choices: tuple[str, ...] = ()
    """Ids of what an opened popup offers: the next step must choose one of them, or close it."""
    error: str = ""
    """A message of the page's (validation, alert, error page) that says why it did not work."""

    def to_json(self) -> dict[str, Any]:
        return _dump_fields(self)


def _flat(text: str, most: int) -> str:
    """On one line, without quotes that could end the value early: a page's text cannot pose as another element."""
    flat = " ".join(text.split()).replace('"', "'")
    return flat if len(flat) <= most else flat[: most - 1] + "…"


def _dump_fields(value: object, skip: tuple[str, ...] = ()) -> dict[str, Any]:
    """The fields that differ from their defaults, and those that have none."""
    said: dict[str, Any] = {}
    for one in fields(value):  # type: ignore[arg-type]
        found = getattr(value, one.name)
        if one.name in skip or found == one.default or (isinstance(found, Mapping | tuple) and not found):
            continue
        said[one.name] = list(found) if isinstance(found, tuple) else found
    return said


def _read(kind: type[Element], document: Mapping[str, object]) -> Element:
    known = {one.name for one in fields(kind)}
    said = {name: tuple(value) if isinstance(value, list) else value for name, value in document.items()}
    return kind(**{name: value for name, value in said.items() if name in known})  # type: ignore[arg-type]
