"""The audit as a person reads it in a terminal: counts, the most telling cases with their words, what was unreadable.

Plain text, one string per line, no colours: the caller decorates. Words of transcripts are shortened and stripped of
control characters, so that no transcript can write to the terminal.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping

import orjson

from circumspect.audit.ground_truth import AuditScore
from circumspect.audit.rulings import AuditedCall
from circumspect.audit.summary import VERDICTS, AuditSummary, evidence

BAR = 28


def lines(
    summary: AuditSummary,
    score: AuditScore | None = None,
    *,
    meanings: Mapping[str, str] | None = None,
    width: int = 100,
) -> Iterator[str]:
    """The report. `meanings` are the one-line meanings of reason codes, in whatever language."""
    yield from _counts(summary)
    if summary.undefined:
        yield ""
        yield from _unchecked(summary, width)
    if summary.reasons:
        yield ""
        yield from _reasons(summary, meanings or {}, width)
    if score is not None:
        yield ""
        yield from score.lines()
    cases = summary.telling(10)
    if cases:
        yield ""
        yield f"The most telling {'case' if len(cases) == 1 else f'{len(cases)} cases'}"
        for number, row in enumerate(cases, 1):
            yield ""
            yield from _case(number, row, width)
    if summary.claims:
        yield ""
        yield "Replies that claim what no call did"
        for claim in summary.claims[:5]:
            yield from _wrap_lines(
                f"  {clean(claim.id)}, message {claim.index}: ", f"“{clean(claim.claim.sentence)}”", width
            )
    if summary.problem_counts:
        yield ""
        yield from _problems(summary, width)


def _counts(summary: AuditSummary) -> Iterator[str]:
    yield (
        f"{format_count(summary.calls, 'proposed call')} in {format_count(summary.conversations, 'conversation')}, "
        f"{summary.changes:,} of them would change something"
    )
    most = max((summary.verdicts[verdict] for verdict in VERDICTS), default=0)
    for verdict in VERDICTS:
        count = summary.verdicts[verdict]
        share = 100 * count / summary.calls if summary.calls else 0.0
        yield f"  {verdict:9}{count:8,}  {share:5.1f} %  {_bar(count, most)}"


def _unchecked(summary: AuditSummary, width: int) -> Iterator[str]:
    """Once for all conversations, and then which they are."""
    count, guessed = summary.undefined_count, "effects" in summary.undefined[0].unchecked
    effects = " What each tool does was guessed from its name." if guessed else ""
    yield from _wrap_lines(
        "",
        f"{format_count(count, 'conversation')} without tool definitions: names and arguments of calls were held "
        f"against no schema, and of replies only those were checked whose deed a call's name tells.{effects} "
        "--tools FILE gives the definitions.",
        width,
    )
    for row in summary.undefined[:5]:
        yield f"  {clean(row.path)}:{row.line}, {clean(row.id)}"
    if count > 5:
        yield f"  … and {count - 5:,} more"


def _reasons(summary: AuditSummary, meanings: Mapping[str, str], width: int) -> Iterator[str]:
    yield "Why calls were held"
    for code, count in summary.reasons.most_common():
        yield from _wrap_lines(f"  {code:26}{count:8,}  ", meanings.get(code, ""), width)


def _case(number: int, row: AuditedCall, width: int) -> Iterator[str]:
    arguments = orjson.dumps(row.arguments, default=str).decode()
    yield from _wrap_lines(f"{number:2}. {row.verdict.upper()} ", f"{clean(row.tool)} {clean(arguments, 300)}", width)
    yield f"    {clean(row.path)}:{row.line}, {clean(row.id)}, message {row.index}"
    for name, why in evidence(row):
        yield from _wrap_lines(f"    {clean(name)}: ", clean(why, 300), width)
    if row.question:
        yield from _wrap_lines("    asked: ", f"“…{clean(row.question[-220:])}”", width)
    if row.answer:
        yield from _wrap_lines("    user:  ", f"“{clean(row.answer, 220)}”", width)


def _problems(summary: AuditSummary, width: int) -> Iterator[str]:
    total = sum(summary.problem_counts.values())
    kinds = ", ".join(f"{count:,} {kind.replace('_', ' ')}" for kind, count in summary.problem_counts.most_common())
    yield f"{format_count(total, 'thing')} could not be read: {kinds}"
    for problem in summary.problems[:10]:
        yield from _wrap_lines("  ", clean(str(problem), 300), width)
    if total > min(10, len(summary.problems)):
        yield f"  … and {total - min(10, len(summary.problems)):,} more"


def format_count(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _bar(count: int, most: int) -> str:
    full = round(BAR * count / most) if most else 0
    return "█" * max(full, 1 if count else 0)


def _wrap_lines(start: str, text: str, width: int) -> Iterator[str]:
    yield from textwrap.wrap(
        start + text, max(width, len(start) + 20), subsequent_indent=" " * len(start), break_long_words=True
    ) or [start]


def clean(text: str, most: int = 400) -> str:
    """On one line, without control and direction characters, and not too long."""
    kept = "".join(sign if sign.isprintable() else " " for sign in text[: most * 2])
    kept = " ".join(kept.split())
    return kept if len(kept) <= most else kept[: most - 1] + "…"
