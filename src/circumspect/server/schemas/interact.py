"""What goes over the wire of `/v1/agent/interact`: a page on its way in. What goes out is `InteractionJson`."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

from pydantic import ConfigDict, Field, model_validator

from circumspect.confined.processes import ReadingLimits
from circumspect.server.schemas.bodies import NO_NUL, OneLine, PersonId, RequestBody, ResourceId
from circumspect.values import Language
from circumspect.web.page import Element, Page, Popup

Short = Annotated[str, Field(max_length=2_000, pattern=NO_NUL)]
Url = Annotated[str, Field(max_length=4_000, pattern=r"^(https?|file|about):[^\s\x00]*$")]


class ElementGiven(RequestBody):
    """One element of an accessibility tree. Field by field as `circumspect docs browser` says."""

    id: Annotated[str, Field(min_length=1, max_length=80, pattern=r"^[^\s\x00\]]+$")]
    role: Annotated[str, Field(max_length=80, pattern=NO_NUL)]
    name: Short = ""
    value: Short = ""
    description: Short = ""
    haspopup: Popup = ""
    expanded: bool | None = None
    checked: bool | None = None
    selected: bool | None = None
    pressed: bool | None = None
    disabled: bool = False
    required: bool = False
    invalid: bool = False
    href: Short = ""
    type: Short = ""
    options: Annotated[tuple[Short, ...], Field(max_length=1_000)] = ()
    inside: Short = ""
    form: Short = ""
    method: Short = ""
    controls: Short = ""


class PageGiven(RequestBody):
    """The page as HTML, or as a list of elements with their roles, names and states."""

    html: Annotated[str, Field(max_length=5_000_000)] | None = Field(None, description="The page's HTML, as it is now.")
    elements: Annotated[tuple[ElementGiven, ...], Field(max_length=5_000)] | None = Field(
        None, description="What is on the page, in reading order. Ids must stay the same from snapshot to snapshot."
    )
    title: Short = ""
    text: Annotated[str, Field(max_length=20_000, pattern=NO_NUL)] = ""
    focused: Short = ""
    status: Annotated[int, Field(ge=0, le=999)] = 200
    busy: bool = False

    @model_validator(mode="after")
    def _one(self) -> PageGiven:
        if (self.html is None) == (self.elements is None):
            raise ValueError("send exactly one of html and elements")
        return self

    def page(self, url: str, limits: ReadingLimits) -> Page:
        """HTML is read in another process: not for the event loop."""
        if self.html is not None:
            from circumspect.web.browser.html_snapshot import read_page

            return replace(read_page(self.html, url, limits), status=self.status, busy=self.busy)
        elements = tuple(Element(**one.model_dump()) for one in self.elements or ())
        return Page(url, self.title, elements, self.text, focused=self.focused, status=self.status, busy=self.busy)


_BUTTON: dict[str, Any] = {"id": "b1", "role": "button", "name": "Patient", "haspopup": "menu", "expanded": False}


class InteractRequest(RequestBody):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "query": "Open the patient menu",
                    "url": "https://clinic.example/dashboard",
                    "page": {"title": "Dashboard", "elements": [_BUTTON]},
                }
            ]
        }
    )

    query: Annotated[str, Field(max_length=100_000, pattern=NO_NUL)] = Field(
        "", description="The user's words: a task, an answer, a yes. Empty after an action was carried out."
    )
    url: Url = Field(description="The address of the page.")
    page: PageGiven
    session: ResourceId | None = Field(None, description="As the answer before gave it; without it a new one begins.")
    error: OneLine = Field("", description="Why the last action could not be carried out at all.")
    person: PersonId | None = None
    language: Language | None = None
