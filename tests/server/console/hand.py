"""Somebody at the console with a mouse and a keyboard, and how often they press either.

    hand = Hand(page)
    hand.click("text=Approve")
    hand.write("input[name=name]", "dana")
    assert hand.clicks <= 3

A click is a press of the button, a choice from a list or of a file, a tick; writing into a field is counted by fields,
since one gets there with the tab key. A key is one that does something by itself, such as j or Enter.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any


class Hand:
    def __init__(self, page: Any) -> None:
        self.page = page
        self.clicks = self.fields = self.keys = 0

    def on(self, page: Any) -> Hand:
        """The same person goes on at another window."""
        self.page = page
        return self

    def click(self, where: str) -> None:
        self.page.click(where)
        self.clicks += 1

    def go(self, where: str) -> None:
        """A click that leads to another page, which is there when this returns."""
        before = self.page.evaluate("performance.timeOrigin")
        self.click(where)
        self.page.wait_for_function("before => performance.timeOrigin !== before", arg=before)
        self.page.wait_for_load_state()

    def choose(self, where: str, value: str) -> None:
        self.page.select_option(where, value)
        self.clicks += 1

    def tick(self, where: str) -> None:
        self.page.check(where)
        self.clicks += 1

    def hand_in(self, where: str, name: str, content: bytes, kind: str = "text/markdown") -> None:
        self.page.set_input_files(where, files=[{"name": name, "mimeType": kind, "buffer": content}])
        self.clicks += 1

    def write(self, where: str, text: str) -> None:
        self.page.fill(where, text)
        self.fields += 1

    def press(self, key: str) -> None:
        self.page.keyboard.press(key)
        self.keys += 1

    def download(self, where: str, folder: Path) -> str:
        with self.page.expect_download() as coming:
            self.click(where)
        path = folder / "download"
        coming.value.save_as(path)
        return path.read_text("utf-8-sig")

    def __str__(self) -> str:
        return f"{self.clicks} clicks, {self.fields} fields, {self.keys} keys"
