"""What the reviewer is worth: without a model, with one, and beside a plain prompt of the same model. Prints Markdown.

    python -m bench.review                                        no model: our sample set
    python -m bench.review --rules rules.json --no-samples        no model: somebody's rules (JSON or YAML)
    python -m bench.review --address http://127.0.0.1:8084/v1 --model NAME \\
        --rules rules.json --out results.jsonl --minutes 20

`plain` is what people build first: the policy, the facts and the criterion in one prompt, a form to fill in. A policy
too long for one prompt is cut to the sections that a search by words finds. Every result is a line of `--out` as soon
as it is there; Ctrl-C, or the end of `--minutes`, prints the tables of what was measured until then.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from bench.review_sets import LabelledCriterion, read_rules, read_samples
from circumspect.errors import ModelError
from circumspect.forms import make_choice, make_form, make_text
from circumspect.models import close_model, open_model
from circumspect.ports import Model
from circumspect.reasons import ReasonCode
from circumspect.review.citations import cite
from circumspect.review.controller import ReviewLimits
from circumspect.review.reviewing import Prepared, Reviewing, prepare, review
from circumspect.review.shelf import Shelf
from circumspect.review.values import STATUSES, Citation, CriterionResult
from circumspect.values import ChatMessage, ModelRequest

Arm = Literal["none", "ours", "plain"]
ARMS: dict[Arm, str] = {"none": "no model", "ours": "ours with the model", "plain": "plain prompt of the model"}
MOST_LETTERS = 16_000
MANY_SECTIONS = 6
PLAIN = (
    "You check a case against a policy. Say whether the criterion is MET, NOT_MET or, when it cannot be decided from "
    "the policy and the facts, UNCERTAIN. Give your reason in a sentence or two, and quote the deciding sentence of "
    "the policy word for word."
)
FORM = make_form({"reason": make_text(1_000), "quote": make_text(1_000), "status": make_choice(STATUSES)})


@dataclass(frozen=True)
class Judged:
    set: str
    arm: Arm
    name: str
    truth: str
    status: str
    reason_code: str
    rationale: str
    quotes: tuple[str, ...]
    invented: int
    """Quotes that were shown and stand in no document."""
    caught: int
    """Quotes that the checks took away before anybody saw them."""
    telling: bool | None
    """A quote overlaps one that decides; None where the set does not say which do."""
    tokens: int
    seconds: float

    @property
    def right(self) -> bool:
        return self.status == self.truth

    @property
    def decided(self) -> bool:
        return self.status != "UNCERTAIN"


# --- the arms -------------------------------------------------------------------------------------------------------


class Reviewers:
    """All arms with one model; an outline is made once for each shelf."""

    def __init__(self, model: Model | None, seconds: float) -> None:
        self._model, self._limits = model, ReviewLimits(seconds=seconds)
        self._prepared: dict[int, asyncio.Task[Prepared]] = {}

    async def judge(self, arm: Arm, set_: str, one: LabelledCriterion) -> Judged:
        if arm == "plain":
            assert self._model is not None
            return await _ask_plainly(self._model, set_, one)
        large = sum(1 for document in one.shelf.documents.values() for _ in document.sections()) > MANY_SECTIONS
        reviewing = Reviewing(self._model if arm == "ours" else None, self._limits, summarise=large)
        if arm == "none":
            prepared = Prepared(one.shelf)
        else:
            if id(one.shelf) not in self._prepared:
                self._prepared[id(one.shelf)] = asyncio.create_task(prepare(one.shelf, reviewing))
            prepared = await self._prepared[id(one.shelf)]
        return _judge(arm, set_, one, await review(one.case, one.criterion, prepared, reviewing))


def _judge(arm: Arm, set_: str, one: LabelledCriterion, result: CriterionResult) -> Judged:
    texts = one.shelf.documents
    invented = sum(texts[each.document].text[each.start : each.end] != each.quote for each in result.citations)
    caught = sum(step.reason == ReasonCode.CITATION_NOT_FOUND and step.kind == "notice" for step in result.trace)
    return Judged(
        set_, arm, one.name, one.truth, result.status, str(result.reason_code or ""), result.rationale,
        tuple(each.quote for each in result.citations), invented, caught, _is_telling(one, result.citations),
        result.tokens, result.seconds,
    )  # fmt: skip


async def _ask_plainly(model: Model, set_: str, one: LabelledCriterion) -> Judged:
    began = time.perf_counter()
    facts = {name: field.value for name, field in one.case.fields.items()}
    asked = (
        f"Policy:\n{_cut_policy(one.shelf, one.criterion.text)}\n\nFacts of the case:\n"
        f"{json.dumps(facts, ensure_ascii=False)}\n\nCriterion: {one.criterion.text}"
    )
    request = ModelRequest(
        "evaluate", "plain", PLAIN, (ChatMessage("user", asked),), schema=FORM, max_tokens=500, temperature=0.0
    )
    said: dict[str, Any] = {}
    problem, tokens = "", 0
    try:
        reply = await model.complete(request)
        tokens = reply.usage.input_tokens + reply.usage.output_tokens
        said = json.loads(reply.text)
    except (ModelError, ValueError) as error:
        problem = type(error).__name__
    status = said.get("status") if said.get("status") in STATUSES else "UNCERTAIN"
    quote = str(said.get("quote") or "").strip()
    found = cite(quote, one.shelf.searchable) if quote else None
    return Judged(
        set_, "plain", one.name, one.truth, str(status), problem, str(said.get("reason", "")),
        (quote,) if quote else (), int(bool(quote) and found is None), 0,
        _is_telling(one, (found,) if found else ()), tokens, time.perf_counter() - began,
    )  # fmt: skip


def _cut_policy(shelf: Shelf, query: str) -> str:
    whole = "\n\n".join(document.text for document in shelf.documents.values())
    if len(whole) <= MOST_LETTERS:
        return whole
    found = [f"{' › '.join(hit.section.path)}\n{hit.text}" for hit in shelf.search(query, 12)]
    return "\n\n".join(found)[:MOST_LETTERS]


def _is_telling(one: LabelledCriterion, shown: Iterable[Citation]) -> bool | None:
    if not one.gold:
        return None
    return any(
        each.document == gold.document and each.start < gold.end and gold.start < each.end
        for each in shown
        for gold in one.gold
    )


# --- running --------------------------------------------------------------------------------------------------------


async def measure(
    sets: dict[str, Sequence[LabelledCriterion]],
    arms: Sequence[Arm],
    model: Model | None,
    found: list[Judged],
    *,
    out: Path | None = None,
    parallel: int = 8,
    seconds: float = 120.0,
) -> None:
    """Fills `found`, the arms side by side, so that what there is can be compared whenever it ends."""
    reviewers = Reviewers(model, seconds)
    waiting = iter([(name, one, arm) for name, items in sets.items() for one in items for arm in arms])
    total, began = len(arms) * sum(map(len, sets.values())), time.monotonic()

    async def work() -> None:
        for name, one, arm in waiting:
            judged = await reviewers.judge(arm, name, one)
            found.append(judged)
            if out:
                with out.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(asdict(judged), ensure_ascii=False) + "\n")
            if len(found) % 20 == 0 or len(found) == total:
                print(f"{len(found)} of {total} after {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(parallel if model else 1):
                group.create_task(work())
    finally:
        await close_model(model)


# --- tables ---------------------------------------------------------------------------------------------------------


def tables(found: Sequence[Judged]) -> Iterable[str]:
    yield (
        "| set | arm | criteria | right | decided | wrong verdicts | open | quotes shown | invented | caught "
        "| quotes a deciding sentence | model failed | tokens | s each |"
    )
    yield "|" + "---|" * 14
    for name in dict.fromkeys(one.set for one in found):
        for arm, title in ARMS.items():
            if those := [one for one in found if one.set == name and one.arm == arm]:
                yield f"| {name} | {title} | {_line(those)} |"
    for one in found:
        if one.arm != "plain" and one.decided and not one.right:
            yield f"\n- wrong ({ARMS[one.arm]}): {one.set} {one.name}: {one.status} for {one.truth}; {one.rationale}"


def _line(those: Sequence[Judged]) -> str:
    decided = [one for one in those if one.decided]
    gold = [one.telling for one in those if one.telling is not None]
    failed = sum("Model" in one.reason_code or one.reason_code == "MODEL_FAILED" for one in those)
    cells = (
        len(those), _share(sum(one.right for one in those), len(those)), len(decided),
        sum(not one.right for one in decided), len(those) - len(decided), sum(len(one.quotes) for one in those),
        sum(one.invented for one in those), sum(one.caught for one in those), _share(sum(gold), len(gold)), failed,
        f"{sum(one.tokens for one in those):,}", f"{sum(one.seconds for one in those) / len(those):.2f}",
    )  # fmt: skip
    return " | ".join(map(str, cells))


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "–"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", help="a model such as openai:NAME@URL, or with --address its name there")
    parser.add_argument("--address", help="the base URL of an OpenAI-compatible server")
    parser.add_argument("--rules", type=Path, action="append", default=[], help="a set of rules; may be repeated")
    parser.add_argument("--no-samples", action="store_true", help="only the rules")
    parser.add_argument("--arms", default="none,ours,plain")
    parser.add_argument("--out", type=Path, help="a JSONL file that each result is added to")
    parser.add_argument("--minutes", type=float, help="stop after so long and print what there is")
    parser.add_argument("--seconds", type=float, default=120.0, help="for one criterion of ours")
    parser.add_argument("--parallel", type=int, default=8)
    given = parser.parse_args(arguments)
    named = f"openai:{given.model or 'default'}@{given.address}" if given.address else given.model
    model = open_model(named) if named else None
    arms = [arm for arm in ARMS if arm in given.arms.split(",") and (model or arm == "none")]
    sets: dict[str, Sequence[LabelledCriterion]] = {path.stem: read_rules(path) for path in given.rules}
    if not given.no_samples:
        sets["samples"] = read_samples()
    found: list[Judged] = []
    limit = given.minutes * 60 if given.minutes else None

    async def run() -> None:
        async with asyncio.timeout(limit):
            await measure(sets, arms, model, found, out=given.out, parallel=given.parallel, seconds=given.seconds)

    try:
        asyncio.run(run())
    except (KeyboardInterrupt, TimeoutError):
        print("Stopped early; these are the results so far.", file=sys.stderr)
    print(f"\n## Reviews{f', {named}' if named else ''}\n")
    print("\n".join(tables(found)))


if __name__ == "__main__":
    main()
