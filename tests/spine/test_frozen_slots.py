"""A value that is made the quick way is the one that `dataclass` would have made."""

from dataclasses import FrozenInstanceError, dataclass, field, replace
from inspect import signature

import pytest

from circumspect.frozen_slots import fill_directly


@dataclass(frozen=True, slots=True)
class Slow:
    name: str
    tags: list[str] = field(default_factory=list)
    size: int = 3


@fill_directly
@dataclass(frozen=True, slots=True)
class Quick:
    name: str
    tags: list[str] = field(default_factory=list)
    size: int = 3


@fill_directly
@dataclass(frozen=True)
class Open:
    name: str
    tags: list[str] = field(default_factory=list)
    size: int = 3


@pytest.mark.parametrize("kind", [Quick, Open])
def test_it_is_made_and_compared_as_before(kind):
    assert kind("a") == kind(name="a", tags=[], size=3) != kind("a", size=4)
    assert repr(kind("a", ["b"])).endswith("(name='a', tags=['b'], size=3)")
    assert replace(kind("a"), size=5).size == 5
    assert kind("a").tags is not kind("b").tags, "each gets a list of its own"
    assert str(signature(kind)) == str(signature(Slow))
    assert kind.__init__.__annotations__ == Slow.__init__.__annotations__


@pytest.mark.parametrize("kind", [Quick, Open])
def test_nobody_changes_a_field_and_none_may_be_missing(kind):
    with pytest.raises(FrozenInstanceError):
        kind("a").size = 4
    for wrong in (lambda: kind(), lambda: kind("a", [], 1, 2), lambda: kind("a", other=1)):
        with pytest.raises(TypeError):
            wrong()


def test_a_class_that_does_more_when_a_value_is_made_is_refused():
    @dataclass(frozen=True, slots=True)
    class Checked:
        name: str

        def __post_init__(self):
            raise ValueError("never skipped")

    with pytest.raises(TypeError, match=r"Checked\.name is no plain argument"):
        fill_directly(Checked)
