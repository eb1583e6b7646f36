"""A frozen dataclass -> the same class, whose values are made in about half the time.

`dataclass(frozen=True)` has each new value set its fields by `object.__setattr__`, which looks every one of them up
again; with some two hundred fields that was a fifth of a ruling at a gate. Here the fields are set by the slots
themselves, or in the value's own dict where the class has no slots. All else stays what `dataclass` made of it:
arguments, defaults, equality, and that nobody changes a field afterwards.
"""

from __future__ import annotations

from dataclasses import MISSING, fields
from functools import update_wrapper
from typing import Any, TypeVar

T = TypeVar("T")

_ABSENT: Any = object()


def fill_directly(made: type[T]) -> type[T]:
    """Only for a frozen dataclass whose fields are all arguments, in order, and that does nothing more when it is
    made."""
    given, lines, known = ["self"], [], dict[str, Any](_absent=_ABSENT)
    if "__dict__" in dir(made) and not hasattr(made, "__slots__"):
        lines.append("_fields = self.__dict__")
    for one in fields(made):  # type: ignore[arg-type]
        name = one.name
        if not one.init or one.kw_only or hasattr(made, "__post_init__"):
            raise TypeError(f"{made.__name__}.{name} is no plain argument")
        if one.default_factory is not MISSING:
            known[f"_make_{name}"] = one.default_factory
            given.append(f"{name}=_absent")
            value = f"_make_{name}() if {name} is _absent else {name}"
        else:
            known[f"_default_{name}"] = one.default
            given.append(name if one.default is MISSING else f"{name}=_default_{name}")
            value = name
        if lines[:1] == ["_fields = self.__dict__"]:
            lines.append(f"_fields[{name!r}] = {value}")
        else:
            known[f"_set_{name}"] = getattr(made, name).__set__
            lines.append(f"_set_{name}(self, {value})")
    exec(f"def __init__({', '.join(given)}):\n " + "\n ".join(lines), known)  # noqa: S102 - names of our own fields
    made.__init__ = update_wrapper(known["__init__"], made.__init__)  # type: ignore[method-assign]
    return made
