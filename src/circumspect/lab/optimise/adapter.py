"""GEPA's one seam: a candidate text and examples in, scores and what to learn from them out.

Candidates are run by our own reviewer, with the text in the place of the prompt. A single review that fails counts as 0
with its reason and ends nothing. When every one of a batch fails, it is not the prompt that is wrong: the run stops,
none of these is kept, and the same command goes on later.

GEPA is synchronous and reviews are not. They share one event loop that runs only while GEPA waits for it, so that
Ctrl-C stops reviews in flight cleanly and whatever is done is on disk.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from typing import TYPE_CHECKING, Any, TypeVar

from circumspect import prompts
from circumspect.errors import CircumspectError, ConfigError, ModelError
from circumspect.lab.optimise.folder import Evaluated, Folder, key_of
from circumspect.lab.optimise.metric import measured
from circumspect.lab.optimise.words import Example, Metric, Score, outcome_of
from circumspect.ports import Model
from circumspect.prompts import Prompt
from circumspect.reasons import ReasonCode
from circumspect.review.controller import Limits
from circumspect.review.outline import FileCache
from circumspect.review.reviewing import Prepared, Reviewing, prepare, review
from circumspect.review.shelf import Shelf
from circumspect.turn import ModelRequest, Said

if TYPE_CHECKING:
    from gepa.core.adapter import EvaluationBatch

log = logging.getLogger(__name__)
T = TypeVar("T")
_BROKEN = (ReasonCode.MODEL_FAILED, ReasonCode.INTERNAL_ERROR)


class RunStopped(CircumspectError):
    """The run cannot go on now. What is done is kept, and the same command goes on from there."""

    code = "optimise_stopped"


@dataclass
class ReviewAdapter:
    """Implements `gepa.GEPAAdapter` for the prompts of the reviewer."""

    name: str
    """Of the prompt whose text is tried."""
    shelf: Shelf
    model: Model
    metric: Metric
    folder: Folder
    run: Callable[[Coroutine[Any, Any, Any]], Any]
    """Runs a coroutine to its end, on the one event loop."""
    concurrency: int = 8
    limits: Limits = field(default_factory=Limits)
    watch: Callable[[], None] = lambda: None
    seen: set[tuple[str, str]] = field(default_factory=set)
    """Evaluations that this run has asked for so far; their number is what the budget counts."""
    propose_new_texts: None = None
    _prepared: dict[str, Prepared] = field(default_factory=dict)

    # --- what GEPA calls --------------------------------------------------------------------------------------------

    def evaluate(
        self, batch: list[Example], candidate: dict[str, str], capture_traces: bool = False
    ) -> EvaluationBatch[tuple[Example, Evaluated], str]:
        from gepa.core.adapter import EvaluationBatch

        before = len(self.seen)
        made = self.scores(batch, candidate[self.name])
        return EvaluationBatch(
            outputs=[str(one.result.get("status", "failed")) for one in made],
            scores=[one.score.total for one in made],
            trajectories=list(zip(batch, made, strict=True)) if capture_traces else None,
            objective_scores=[dict(one.score.parts) or {"score": one.score.total} for one in made],
            num_metric_calls=len(self.seen) - before,
        )

    def make_reflective_dataset(
        self,
        candidate: dict[str, str],
        eval_batch: EvaluationBatch[tuple[Example, Evaluated], str],
        components_to_update: list[str],
    ) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        records = [_record(*one) for one in eval_batch.trajectories or ()]
        return dict.fromkeys(components_to_update, records)

    # --- evaluating -------------------------------------------------------------------------------------------------

    def scores(self, examples: Sequence[Example], text: str) -> list[Evaluated]:
        """In the order of the examples: what is known from the folder, the rest now."""
        self.folder.keep_candidate(text)
        known = {one.id: self.folder.evaluated(text, one.id) for one in examples}
        missing = {one.id: one for one in examples if known[one.id] is None}
        self.seen.update((key_of(text), id_) for id_, one in known.items() if one is not None)
        if missing:
            made: dict[str, Evaluated] = self.run(self._make(list(missing.values()), text))
            known.update(made)
        return [one for example in examples if (one := known[example.id]) is not None]

    async def _make(self, examples: Sequence[Example], text: str) -> dict[str, Evaluated]:
        problem = unusable(self.name, text)
        if problem:
            made = {one.id: Evaluated(Score(0.0, feedback=problem), {}, problem) for one in examples}
            for id_, one in made.items():
                self._keep(text, id_, one)
            return made
        with swapped(self.name, text) as words:
            reviewing = Reviewing(self.model, self.limits, fallback=False, prompt=words)
            prepared = await self._outline(reviewing, text)
            return await self._review(examples, text, reviewing, prepared)

    async def _review(
        self, examples: Sequence[Example], text: str, reviewing: Reviewing, prepared: Prepared
    ) -> dict[str, Evaluated]:
        waiting = iter(examples)
        made: dict[str, Evaluated] = {}
        held: list[tuple[str, Evaluated]] = []

        async def worker() -> None:
            for example in waiting:
                one = await self._one(example, prepared, reviewing)
                made[example.id] = one
                if one.failed and all(other.failed for other in made.values()):
                    held.append((example.id, one))
                    continue
                self._keep(text, example.id, one)

        async with asyncio.TaskGroup() as group:
            for _ in range(min(self.concurrency, len(examples))):
                group.create_task(worker())
        if len(made) > 1 and len(held) == len(made):
            reason, count = Counter(one.failed for _, one in held).most_common(1)[0]
            raise RunStopped(
                f"All of {len(made)} reviews failed, {count} of them so: {reason}",
                fix="Check the model, then run the same command again: what is done is kept.",
            )
        for id_, one in held:
            self._keep(text, id_, one)
        return made

    def _keep(self, text: str, id_: str, made: Evaluated) -> None:
        self.folder.keep(text, id_, made)
        self.seen.add((key_of(text), id_))
        self.watch()

    async def _one(self, example: Example, prepared: Prepared, reviewing: Reviewing) -> Evaluated:
        try:
            result = await review(example.case, example.criterion, prepared, reviewing, document=example.document)
            shown = result.to_json(whole=True)
            tokens, cost = result.tokens, result.cost_usd
            if result.reason_code in _BROKEN:
                return Evaluated(Score(0.0, feedback=result.rationale), shown, result.rationale, tokens, cost)
            return Evaluated(measured(self.metric, example, outcome_of(shown)), shown, "", tokens, cost)
        except Exception as problem:
            log.exception("an evaluation failed", extra={"example": example.id})
            why = f"{type(problem).__name__}: {problem}"
            return Evaluated(Score(0.0, feedback=why), {}, why)

    async def _outline(self, reviewing: Reviewing, text: str) -> Prepared:
        """The documents with their outline: one for all candidates, unless its own prompt is the one that changes."""
        key = key_of(text) if self.name == "review_summary" else ""
        if key not in self._prepared:
            self._prepared[key] = await prepare(self.shelf, reviewing, FileCache(self.folder.path / "outlines"))
        return self._prepared[key]


# --- the text that is tried -----------------------------------------------------------------------------------------


@contextlib.contextmanager
def swapped(name: str, text: str) -> Iterator[Prompt | None]:
    """The candidate in the place of the prompt, for this task only; what comes out goes to `Reviewing.prompt`."""
    words = Prompt(name, text)
    with prompts.chosen({name: words}):
        yield words if name == "review" else None


def unusable(name: str, text: str) -> str:
    """Why a text cannot be a prompt at all; empty where it can. Nobody has to be asked to find that out."""
    try:
        prompts.version(name, text)
    except ConfigError as problem:
        return f"These instructions cannot be used. {problem}"
    return ""


def _record(example: Example, made: Evaluated) -> dict[str, Any]:
    result = made.result
    asked = {
        "criterion": example.criterion.text,
        "case": example.case.title,
        "fields of the case": ", ".join(example.case.fields),
    }
    did = {
        "verdict": f"{result.get('status')} with confidence {result.get('confidence')}",
        "rationale": result.get("rationale", ""),
        "quoted": [one["quote"] for one in result.get("citations", ())],
        "tools used": ", ".join(one["tool"] for one in result.get("trace", ()) if one["kind"] == "action"),
    }
    score = ", ".join(f"{name} {value:.2f}" for name, value in made.score.parts.items())
    feedback = f"It failed: {made.failed}" if made.failed else made.score.feedback
    return {
        "Inputs": asked,
        "Generated Outputs": did,
        "Feedback": f"{feedback} (score {made.score.total:.2f}: {score})",
    }


# --- reflection -----------------------------------------------------------------------------------------------------


def reflection_words() -> Prompt:
    return Prompt("reflection", resources.files(__package__).joinpath("reflection.md").read_text("utf-8").strip())


@dataclass
class Reflection:
    """The model that writes new instructions. The same question in the same place of the run is asked once, ever."""

    model: Model
    folder: Folder
    run: Callable[[Coroutine[Any, Any, Any]], Any]
    problem: CircumspectError | None = None
    """GEPA goes on after a failed reflection; whoever watches this stops the run."""
    _asked: Counter[str] = field(default_factory=Counter)

    def __call__(self, prompt: str | list[dict[str, Any]]) -> str:
        question = prompt if isinstance(prompt, str) else str(prompt[-1]["content"])
        if self.problem:
            raise self.problem
        nth = self._asked[key_of(question)]
        self._asked[key_of(question)] += 1
        known = self.folder.reflected(question, nth)
        return known if known is not None else str(self.run(self._ask(question, nth)))

    async def _ask(self, question: str, nth: int) -> str:
        words = reflection_words()
        instructions = "You improve the instructions of an assistant from examples of its work."
        request = ModelRequest(
            "analyse", words.id, instructions, (Said("user", question),), max_tokens=4_000, temperature=0.7
        )
        try:
            reply = await self.model.complete(request)
        except ModelError as problem:
            self.problem = RunStopped(
                f"The reflection model failed: {problem.problem}",
                fix="Check it, then run the same command again: what is done is kept.",
            )
            raise self.problem from problem
        usage = reply.usage
        self.folder.keep_reflection(question, nth, reply.text, usage.input_tokens + usage.output_tokens, usage.cost_usd)
        return reply.text
