"""The measured claims about the task set hold (R17): searches saved, no loops, nobody acted for who had to be asked."""

from __future__ import annotations

from bench.searches import LATER, run, tasks

from circumspect.web.model_pair import open_pair


async def test_a_third_of_the_searches_is_saved_without_loops_and_without_acting_blindly():
    listed, web = tasks()
    assert len(listed) >= 60
    pair = open_pair("offline")
    outcomes = [await run(pair, task, web) for task in listed]
    made = sum(len(one.queries) for one in outcomes)
    assert made <= 0.7 * len(outcomes)
    assert not any(one.looped for one in outcomes)
    assert not [one.task.ask for one in outcomes if one.task.right == "ASK_USER" and not one.reasoned.ends]
    right = [one.reasoned.analysis.source == one.task.right for one in outcomes if one.task.split == LATER]
    assert sum(right) >= 0.8 * len(right)
