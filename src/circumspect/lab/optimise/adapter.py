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
from functools import partial
from typing import TYPE_CHECKING, Any

from circumspect import prompts
from circumspect.errors import CircumspectError, ConfigError, ModelError
from circumspect.lab.batch.job import ChunkFailed
from circumspect.lab.batch.reviews import PendingReview, ReviewedChunks, ReviewWorkers, run_reviews
from circumspect.lab.optimise.folder import Evaluated, Folder, key_of
from circumspect.lab.optimise.metric import apply_metric
from circumspect.lab.optimise.values import Example, ReviewMetric, ReviewScore, outcome_of
from circumspect.ports import Model
from circumspect.prompts import Prompt
from circumspect.reasons import ReasonCode
from circumspect.review.controller import ReviewLimits
from circumspect.review.outline import FileCache
from circumspect.review.reviewing import Prepared, Reviewing, prepare, review
from circumspect.review.shelf import Shelf
from circumspect.review.stored_evaluations import row_of
from circumspect.stores.reviews import ResultRow
from circumspect.values import ChatMessage, ModelRequest

if TYPE_CHECKING:
    from gepa.core.adapter import EvaluationBatch

log = logging.getLogger(__name__)
_AGAIN = "Check the model, then run the same command again: what is done is kept."
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
    metric: ReviewMetric
    folder: Folder
    run: Callable[[Coroutine[Any, Any, Any]], Any]
    """Runs a coroutine to its end, on the one event loop."""
    concurrency: int = 8
    elsewhere: ReviewWorkers | None = None
    """Who reviews, if not this process."""
    limits: ReviewLimits = field(default_factory=ReviewLimits)
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
        known = {one.id: self.folder.find_evaluation(text, one.id) for one in examples}
        missing = {one.id: one for one in examples if known[one.id] is None}
        self.seen.update((key_of(text), id_) for id_, one in known.items() if one is not None)
        if missing:
            known.update(self._make(list(missing.values()), text))
        return [one for example in examples if (one := known[example.id]) is not None]

    def _make(self, examples: Sequence[Example], text: str) -> Mapping[str, Evaluated]:
        problem = find_prompt_problem(self.name, text)
        if problem:
            useless = Evaluated(ReviewScore(0.0, feedback=problem), {}, problem)
            for example in examples:
                self._keep(text, example.id, useless)
            return {example.id: useless for example in examples}
        made = _Made(partial(self._keep, text))
        if self.elsewhere is None:
            self.run(self._here(examples, text, made))
        else:
            reviewing, prepared = self.run(self._outline(text))
            words = {self.name: Prompt(self.name, text)}
            ended = run_reviews(self._parts(examples), prepared, reviewing, self.elsewhere, words)
            self._take(ended, examples, made)
        return made.whole()

    async def _here(self, examples: Sequence[Example], text: str, made: _Made) -> None:
        waiting = iter(examples)
        reviewing, prepared = await self._outline(text)

        async def worker() -> None:
            for one in waiting:
                result = await review(one.case, one.criterion, prepared, reviewing, document=one.document)
                made.take(one, self._score_row(one, row_of(result, one.case, 0)))

        with swap_prompt(self.name, text):
            async with asyncio.TaskGroup() as group:
                for _ in range(min(self.concurrency, len(examples))):
                    group.create_task(worker())

    def _parts(self, examples: Sequence[Example]) -> Iterator[Sequence[PendingReview]]:
        for first in range(0, len(examples), self.concurrency):
            some = enumerate(examples[first : first + self.concurrency], first)
            yield [PendingReview(one.case, number, one.criterion, one.document) for number, one in some]

    def _take(self, ended: ReviewedChunks, examples: Sequence[Example], made: _Made) -> None:
        with contextlib.closing(ended):
            for rows in ended:
                if isinstance(rows, ChunkFailed):
                    raise RunStopped(f"{rows.chunk.label} could not be done: {rows.problem}", fix=_AGAIN)
                for row in rows:
                    made.take(examples[row.position], self._score_row(examples[row.position], row))

    def _keep(self, text: str, id_: str, made: Evaluated) -> None:
        self.folder.keep(text, id_, made)
        self.seen.add((key_of(text), id_))
        self.watch()

    def _score_row(self, example: Example, row: ResultRow) -> Evaluated:
        tokens, said = row.input_tokens + row.output_tokens, str(row.result.get("rationale", ""))
        if row.reason_code in _BROKEN:
            return Evaluated(ReviewScore(0.0, feedback=said), row.result, said, tokens, row.cost_usd)
        try:
            score = apply_metric(self.metric, example, outcome_of(row.result))
        except Exception as problem:
            log.exception("a metric failed", extra={"example": example.id})
            why = f"{type(problem).__name__}: {problem}"
            return Evaluated(ReviewScore(0.0, feedback=why), row.result, why, tokens, row.cost_usd)
        return Evaluated(score, row.result, "", tokens, row.cost_usd)

    async def _outline(self, text: str) -> tuple[Reviewing, Prepared]:
        """The documents with their outline: one for all candidates, unless its own prompt is the one that changes."""
        key = key_of(text) if self.name == "review_summary" else ""
        with swap_prompt(self.name, text) as words:
            reviewing = Reviewing(self.model, self.limits, fallback=False, prompt=words)
            if key not in self._prepared:
                self._prepared[key] = await prepare(self.shelf, reviewing, FileCache(self.folder.path / "outlines"))
        return reviewing, self._prepared[key]


@dataclass
class _Made:
    """What came of the examples so far. As long as all have failed, none is kept: it may not be the prompt's fault."""

    keep: Callable[[str, Evaluated], None]
    by_id: dict[str, Evaluated] = field(default_factory=dict)
    held: dict[str, Evaluated] = field(default_factory=dict)

    def take(self, example: Example, one: Evaluated) -> None:
        self.by_id[example.id] = one
        if one.failed and len(self.held) + 1 == len(self.by_id):
            self.held[example.id] = one
        else:
            self.keep(example.id, one)

    def whole(self) -> Mapping[str, Evaluated]:
        if len(self.by_id) > 1 and len(self.held) == len(self.by_id):
            reason, count = Counter(one.failed for one in self.held.values()).most_common(1)[0]
            raise RunStopped(f"All of {len(self.by_id)} reviews failed, {count} of them so: {reason}", fix=_AGAIN)
        for id_, one in self.held.items():
            self.keep(id_, one)
        return self.by_id


# --- the text that is tried -----------------------------------------------------------------------------------------


@contextlib.contextmanager
def swap_prompt(name: str, text: str) -> Iterator[Prompt | None]:
    """The candidate in the place of the prompt, for this task only; what comes out goes to `Reviewing.prompt`."""
    words = Prompt(name, text)
    with prompts.use_prompts({name: words}):
        yield words if name == "review" else None


def find_prompt_problem(name: str, text: str) -> str:
    """Why a text cannot be a prompt at all; empty where it can. Nobody has to be asked to find that out."""
    try:
        prompts.make_prompt_version(name, text)
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
        known = self.folder.find_reflection(question, nth)
        return known if known is not None else str(self.run(self._ask(question, nth)))

    async def _ask(self, question: str, nth: int) -> str:
        words = prompts.load_default_prompt("reflection")
        instructions = "You improve the instructions of an assistant from examples of its work."
        request = ModelRequest(
            "analyse", words.id, instructions, (ChatMessage("user", question),), max_tokens=4_000, temperature=0.7
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
