"""Pages of a small web, and a sleep that only remembers."""

from __future__ import annotations

import pytest
from tests.web.search.servers import WebPage

HERE = ("127.0.0.1",)

WEB = (
    WebPage("https://shop.example.co.uk/help/returns", "Returns", "Returns are free within 30 days of delivery"),
    WebPage("https://www.example.co.uk/returns", "Returns policy", "How returns work in our stores"),
    WebPage("https://example.co.uk/faq#returns", "Questions", "Delivery and returns"),
    WebPage("https://blog.other.com/returns", "About returns", "What shops say about returns and delivery"),
    WebPage("https://news.other.com/delivery", "Delivery news", "Parcels and delivery"),
    WebPage("https://notexample.co.uk/returns", "Not us", "returns returns returns"),
)


class Sleeps:
    def __init__(self) -> None:
        self.slept: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.slept.append(seconds)


class Moment:
    """Seconds that pass when told to."""

    def __init__(self) -> None:
        self.at = 1_000.0

    def __call__(self) -> float:
        return self.at


@pytest.fixture
def sleeps() -> Sleeps:
    return Sleeps()


@pytest.fixture
def moment() -> Moment:
    return Moment()
