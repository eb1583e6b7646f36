"""Whether answers keep to their plans (S9): by words, by meaning, and as metrics of an experiment."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from tests.knowledge.embeddings import Answers, embeddings
from tests.lab.trying import SHOP, at_home, incoming

from circumspect.clock import SystemClock
from circumspect.knowledge.semantic import Endpoint
from circumspect.lab.trials import conducting
from circumspect.lab.trials.consistency import by_words
from circumspect.lab.trials.experiments import start
from circumspect.lab.trials.measures import report
from circumspect.pipeline import run_turn
from circumspect.server.experiment_turns import Experimenting
from circumspect.stores.experiment_tables import exposures


@pytest.mark.parametrize(
    ("plan", "answer", "expected"),
    [
        ("look the order up", "Look the order up!", 1.0),
        ("look the order up", "order the look up", 0.5),
        ("look the order up", "nothing of it", 0.0),
        ("החזר כסף", "החזר כסף", 1.0),
        ("", "anything", 0.0),
    ],
)
def test_words_in_their_order_are_what_counts(plan, answer, expected):
    assert by_words(plan, answer) == pytest.approx(expected)


def test_a_novel_is_not_compared_to_its_end():
    assert by_words("x " * 1_000 + "y " * 100_000, "x " * 1_000 + "z " * 100_000) == 1.0


@pytest.mark.parametrize("model", ["small", "broken"])
async def test_answers_under_an_arm_are_held_against_their_plans(tmp_path, model):
    arm = {"name": "planned", "overlay": {"profile": "service"}}
    with embeddings() as url:
        async with at_home(tmp_path) as home:
            experimenting = Experimenting(
                home.store, home.resources, SystemClock(), embedder=Endpoint(url, model), check_seconds=0
            )
            made = conducting.draft(SHOP, "e1", name="n", arms=[arm], plan={"quiet_seconds": 0}, by="me", at=0.0)
            experiment = start(made, 0.5, 0.0, notice=0)
            await home.store.tx(conducting.create, experiment, lambda *_: None)
            for number in range(8):
                message = incoming("When will my order 12345 arrive?", f"t{number}", f"c{number}")
                trial = await experimenting.begin(message, home.setup)
                assert trial is not None
                trial.note_result(await trial.run(run_turn, None), 0.1)
            assert await experimenting.flush() == 8
            rows = await home.store.tx(lambda connection: list(connection.execute(sa.select(exposures))))
            by_arm = {row.arm: row for row in rows}
            measuring = conducting.read_plan(experiment.plan)
            _, sums = await home.store.tx(conducting.load_experiment, frozenset({SHOP}), "e1", 4e9)
            metrics = report(experiment, measuring, sums).arms["planned"]["metrics"]
    planned, control = by_arm["planned"], by_arm["control"]
    assert (control.consistency, control.similarity) == (None, None), "nothing was planned"
    assert 0 <= planned.consistency < 1
    assert metrics["consistency"]["n"] == sum(row.arm == "planned" for row in rows)
    if model == "broken":
        assert planned.similarity is None
        assert Answers.seen
    else:
        assert 0 < planned.similarity <= 1
        assert metrics["similarity"]["mean"] == pytest.approx(planned.similarity)
