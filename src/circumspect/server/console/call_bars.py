"""The model calls of a turn as a chart: how long each took, one after the other, and its tokens beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from circumspect.server.console.charts import Chart, WaterfallSpan, waterfall

LOOKS = {"assessment": "fa", "critique": "fc"}


def draw_model_calls(cost: Mapping[str, Any], t: Callable[..., str], number: Callable[..., str]) -> Chart:
    """Where nothing was timed (the offline model takes no time to speak of) the length is the tokens'."""
    spans, beside, begun = [], [], 0.0
    for name, call in zip(cost["names"], cost["usage"].calls, strict=True):
        tokens = t("model-call-tokens", sent=number(call.input_tokens), back=number(call.output_tokens))
        took = t("model-call-seconds", seconds=number(call.seconds, 2))
        length = call.seconds if cost["timed"] else (call.input_tokens + call.output_tokens) / 1000
        tip = f"{call.model} · {tokens} · {took} · ${call.cost_usd:.6f}"
        spans.append(WaterfallSpan(t(f"kind-{name}"), begun, length, LOOKS.get(name, "f6"), tip))
        beside.append(f"{took} · {tokens}" if cost["timed"] else tokens)
        begun += length
    chart = waterfall(spans)
    labels = list(chart.labels)
    for at, text in enumerate(beside):
        labels[2 * at + 1] = replace(labels[2 * at + 1], text=text)
    rows = tuple((span.name, text, span.tip) for span, text in zip(spans, beside, strict=True))
    return replace(chart, labels=tuple(labels), rows=rows)
