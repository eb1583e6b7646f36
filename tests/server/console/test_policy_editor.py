"""The policy editor: suggestions and findings at the line by the keyboard alone, and a text field where it is missing."""

from __future__ import annotations

from importlib import resources
from typing import Any

import httpx
import pytest
from tests.server.console.building import Browsing, ConsoleHouse, eventually, overflow, serious
from tests.server.console.test_policies import in_force

VENDOR = resources.files("circumspect.server.console").joinpath("static", "vendor")
needs_editor = pytest.mark.skipif(
    not VENDOR.joinpath("codemirror.js").is_file(),
    reason="CodeMirror was not there when the package was built: run `pip install -e .` with the registry in reach",
)


def suggested(page: Any) -> list[str]:
    page.wait_for_selector("#editor .cm-tooltip-autocomplete li")
    return [item.inner_text() for item in page.query_selector_all("#editor .cm-completionLabel")]


def text_of(page: Any) -> str:
    return str(page.input_value("#text"))


@needs_editor
@pytest.mark.parametrize("language", ["en", "he"])
def test_what_may_stand_there_is_suggested_and_mistakes_are_shown_at_their_line(
    browsing: Browsing, house: ConsoleHouse, language: str
) -> None:
    text = in_force(house).text
    with browsing.as_("root", language=language) as page:
        page.goto("/policies/shop")
        page.wait_for_selector("#editor .cm-content")
        page.fill("#text", text.rstrip() + "\n  ca")
        page.click("#editor .cm-content")
        page.keyboard.press("Control+End")
        # Letters write; they are no commands of the console here.
        page.keyboard.type("nc")
        assert suggested(page) == ["cancel_order"], "a tool of this tenant's"
        page.keyboard.press("Escape")
        page.fill("#text", text.rstrip() + "\n  send_it:\n    con")
        page.click("#editor .cm-content")
        page.keyboard.press("Control+End")
        page.keyboard.type("f")
        assert set(suggested(page)) == {"confirm", "confidence_cap"}, "keys of the schema"
        page.keyboard.press("Escape")
        page.keyboard.type("irm: ")
        page.keyboard.press("Control+Space")
        # What the key may be; on a busy machine the list of before is still there for a moment.
        eventually(page, lambda: set(suggested(page)) == {"always", "four_eyes", "never", "when_implied"})
        page.keyboard.type("alw")
        eventually(page, lambda: suggested(page) == ["always"])
        page.wait_for_timeout(120)
        page.keyboard.press("Enter")
        assert text_of(page).endswith("confirm: always")
        page.keyboard.type("ss")
        page.wait_for_selector("#editor .cm-lint-marker-error")
        page.wait_for_selector("#editor .cm-lintRange-error")
        assert page.query_selector("#checked .notice.bad")
        assert overflow(page) <= 0
        assert serious(page) == []
        assert page.evaluate("getComputedStyle(document.getElementById('editor')).direction") == "ltr"
        # Out of the field by the keyboard alone.
        page.keyboard.press("Escape")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.name") == "note"
        page.click("#checked [data-shows-line]")
        assert page.evaluate("document.activeElement.id") == "editor"
    assert in_force(house).text == text


@needs_editor
@pytest.mark.parametrize("language", ["en", "he"])
def test_a_long_line_goes_on_below_and_the_marks_stay_at_their_lines(browsing: Browsing, language: str) -> None:
    with browsing.as_("root", language=language) as page:
        page.goto("/policies/shop")
        page.wait_for_selector("#editor .cm-content")
        page.fill(
            "#text",
            f"# {'a long line ' * 30}\nversion: 1\ntools:\n  cancel_order: {{confirm: alwayss}} # {'x' * 300}\n",
        )
        page.wait_for_selector("#editor .cm-lint-marker-error")
        seen = page.evaluate("""() => {
            const root = document.getElementById("editor").shadowRoot;
            const top = (one) => Math.round(one.getBoundingClientRect().top);
            const lines = [...root.querySelectorAll(".cm-line")], first = document.createRange();
            first.selectNodeContents(lines[3]);
            return {
                hidden: root.querySelector(".cm-scroller").scrollWidth - root.querySelector(".cm-scroller").clientWidth,
                high: lines.map((one) => one.getBoundingClientRect().height),
                lines: lines.map(top),
                numbers: [...root.querySelectorAll(".cm-lineNumbers .cm-gutterElement")].slice(1).map(top),
                mark: top(root.querySelector(".cm-lint-marker-error").closest(".cm-gutterElement")),
                begins: [...first.getClientRects()].map((one) => Math.round(one.left)),
            };
        }""")
    assert seen["hidden"] <= 0, "nothing of a line is out of sight"
    assert seen["high"][0] > 2 * seen["high"][1], "it goes on below"
    assert seen["numbers"] == seen["lines"]
    assert seen["mark"] == seen["lines"][3]
    assert min(seen["begins"][1:]) > seen["begins"][0], "what goes on stands further in than the line begins"


def test_without_the_editor_the_text_field_does_the_same(browsing: Browsing) -> None:
    with browsing.as_("root") as page:
        page.route("**/vendor/codemirror.js*", lambda route: route.fulfill(body="", content_type="text/javascript"))
        page.goto("/policies/shop")
        assert page.query_selector("#editor") is None
        text = text_of(page)
        page.fill("#text", text.replace("confirm: always", "confrim: always", 1))
        page.wait_for_selector("#checked .notice.bad")
        page.click("#checked [data-shows-line]")
        selected = page.evaluate(
            "(area => area.value.slice(area.selectionStart, area.selectionEnd))(document.getElementById('text'))"
        )
        assert selected.strip().startswith("cancel_order:")


@needs_editor
def test_the_editor_is_sent_packed_and_kept_and_the_page_stays_small(house: ConsoleHouse) -> None:
    with house.visitor("root") as visitor:
        answer = visitor.get("/policies/shop")
        assert len(answer.content) < 60_000
        address = answer.text.split('src="/static/vendor/codemirror.js')[1].split('"')[0]
        packed = visitor.get(f"/static/vendor/codemirror.js{address}", headers={"Accept-Encoding": "gzip"})
        assert packed.headers["content-encoding"] == "gzip"
        assert packed.headers["cache-control"].endswith("immutable")
        assert int(packed.headers["content-length"]) < 300_000
        plain = httpx.get(f"{house.url}/static/vendor/codemirror.js", headers={"Accept-Encoding": "identity"})
        assert plain.text == packed.text
        assert "content-encoding" not in plain.headers
        assert plain.headers["content-type"].split(";")[0] == packed.headers["content-type"].split(";")[0]


def test_what_is_suggested_is_the_published_schema(house: ConsoleHouse) -> None:
    with house.visitor("root") as visitor:
        words = visitor.get("/policies/shop/words").json()
    assert "four_eyes" in str(words["schema"]["$defs"]["ToolPolicy"]["properties"]["confirm"])
    assert words["tools"]["cancel_order"] == ["order_id", "reason"]
    with house.visitor("rita") as visitor:
        assert visitor.get("/policies/shop/words").status_code == 403
