"""Is a call ordered in plain words? The user's message and a call -> the message tells to do just that, to that record.

"Refund 50 for A-77" is an order for `refund`, "I no longer need alt.txt" only implies one for `delete_file`, and
"remove alt.txt from the list, I no longer need old.txt" is none to delete old.txt.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from circumspect.language.folding import fold
from circumspect.language.wanted import find_mentions
from circumspect.policy.grounding.tracing import list_values
from circumspect.policy.understanding.named_record import find_ids, key_of, list_records
from circumspect.policy.understanding.open_wishes import acts_of
from circumspect.values import ToolCall

_ENDS = re.compile(r"[,;:!?]|\.(?=\s|\Z)|\s[-–—]+\s")
"""What is said of a record stands before the first of these behind the verb."""


def is_plainly_ordered(text: str, call: ToolCall) -> bool:
    records = [re.escape(fold(one)) for one in list_records(call)]
    # With nothing that is a part of a longer id beside it.
    named = [re.compile(rf"(?<![\w@.-]){one}(?!\w|[@.-]\w)") for one in records]
    return bool(named) and any(one.search(order) for order in _find_orders(text, call.tool) for one in named)


def is_ordered_of_another(text: str, call: ToolCall) -> bool:
    """An order for what the tool does names records, and none of the call's."""
    carried = {key_of(str(one)) for _, _, one in list_values(call)}
    named = [ids for order in _find_orders(text, call.tool) if (ids := find_ids(order).keys())]
    return bool(named) and all(carried.isdisjoint(ids) for ids in named)


def _find_orders(text: str, tool: str) -> Iterator[str]:
    """Folded, up to where they go on to something else: "refund A-77", and not why."""
    acts = acts_of(tool)
    for one in find_mentions(text):
        if one.is_order and one.act in acts:
            end = _ENDS.search(one.rest)
            yield fold(one.clause[: len(one.clause) - len(one.rest)] + one.rest[: end.start() if end else None])
