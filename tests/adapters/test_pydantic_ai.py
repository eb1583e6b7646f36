"""An agent of Pydantic AI with our capability: what it would have done, and what becomes of it now."""

from __future__ import annotations

from typing import Any

import pytest
from examples.adapters.shop import POLICY, Shop
from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, ToolApproved, ToolDenied
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel

from circumspect.adapters.pydantic_ai import CircumspectCapability
from circumspect.gate import Gate

Said = list[ToolCallPart] | str


def agent(shop: Shop, *script: Said, gate: Any = POLICY, defers: bool = True) -> Agent[None, Any]:
    said = iter(script)

    def answer(_: list[ModelMessage], __: Any) -> ModelResponse:
        one = next(said)
        return ModelResponse(parts=[TextPart(one)] if isinstance(one, str) else one)

    return Agent(
        FunctionModel(answer),
        output_type=[str, DeferredToolRequests] if defers else str,
        tools=[shop.get_order, shop.read_note, shop.cancel_order, shop.change_address],
        capabilities=[CircumspectCapability(gate)] if gate else [],
    )


def call(id: str, name: str, **arguments: str) -> ToolCallPart:
    return ToolCallPart(name, arguments, id)


LOOK = [call("look", "get_order", order_id="1001")]
CANCEL = [call("cancel", "cancel_order", order_id="1001")]


def results(run: Any) -> list[Any]:
    return [part.content for one in run.all_messages() for part in one.parts if isinstance(part, ToolReturnPart)]


async def resume(one: Agent[None, Any], run: Any, answer: Any, **metadata: Any) -> Any:
    [waits] = run.output.approvals
    given = DeferredToolResults(approvals={waits.tool_call_id: answer}, metadata={waits.tool_call_id: metadata})
    return await one.run(message_history=run.all_messages(), deferred_tool_results=given)


async def test_without_us_a_shipped_order_is_cancelled_and_with_us_it_is_not() -> None:
    script = [call("look", "get_order", order_id="1002")], [call("cancel", "cancel_order", order_id="1002")], "Done."
    before, after = Shop(), Shop()
    await agent(before, *script, gate=None).run("cancel order 1002")
    run = await agent(after, *script).run("cancel order 1002")
    assert before.done == ["cancelled 1002"]
    assert after.done == []
    assert results(run)[0] == after.get_order("1002")
    assert "An order that has been shipped cannot be cancelled" in results(run)[1]


async def test_an_address_out_of_a_note_is_not_used() -> None:
    script: tuple[Said, ...] = (
        [call("note", "read_note", order_id="1001")],
        [call("move", "change_address", order_id="1001", address="66 Harbour Road")],
        "Done.",
    )
    before, after = Shop(), Shop()
    await agent(before, *script, gate=None).run("is there a note with order 1001?")
    await agent(after, *script).run("is there a note with order 1001?")
    assert before.done == ["1001 goes to 66 Harbour Road"]
    assert after.done == []


async def test_an_approved_call_runs_once() -> None:
    shop = Shop()
    one = agent(shop, LOOK, CANCEL, "Cancelled.")
    run = await one.run("cancel order 1001")
    assert run.output.metadata["cancel"]["description"].startswith("Just to confirm: you want me to cancel order 1001?")
    assert shop.done == []
    run = await resume(one, run, True)
    assert run.output == "Cancelled."
    assert shop.done == ["cancelled 1001"]


async def test_an_approval_reaches_another_process_that_shares_the_gate() -> None:
    shop, gate = Shop(), Gate(POLICY)
    run = await agent(shop, LOOK, CANCEL, gate=gate).run("cancel order 1001")
    await resume(agent(shop, "Cancelled.", gate=gate), run, True)
    assert shop.done == ["cancelled 1001"]


@pytest.mark.parametrize("no", [False, ToolDenied("Not now.")])
async def test_a_no_runs_nothing(no: Any) -> None:
    shop = Shop()
    one = agent(shop, LOOK, CANCEL, "Left alone.")
    run = await resume(one, await one.run("cancel order 1001"), no)
    assert (run.output, shop.done) == ("Left alone.", [])


async def test_an_edit_is_another_call_and_its_yes_is_a_yes_to_the_edit() -> None:
    shop = Shop()
    shop.orders["1003"] = {"order_id": "1003", "status": "paid"}
    look = [*LOOK, call("see", "get_order", order_id="1003")]
    one = agent(shop, look, CANCEL, "So it is.")
    run = await one.run("cancel order 1001; I have 1003 as well")
    edit = ToolApproved(override_args={"order_id": "1003"})
    run = await resume(one, run, edit)
    assert shop.done == []
    assert run.output.metadata["cancel"]["args"] == {"order_id": "1003"}
    run = await resume(one, run, True)
    assert shop.done == [], "a plain yes would run what the model proposed, and that is not what was shown"
    run = await resume(one, run, edit)
    run = await resume(one, run, edit)
    assert (run.output, shop.done) == ("So it is.", ["cancelled 1003"])


async def test_where_runs_cannot_wait_the_model_asks_and_the_next_message_counts() -> None:
    shop = Shop()
    question = "Just to confirm: you want me to cancel order 1001? This cannot be undone. Please answer yes or no."
    again = [call("again", "cancel_order", order_id="1001")]
    one = agent(shop, LOOK, CANCEL, question, again, "Cancelled.", defers=False)
    run = await one.run("cancel order 1001")
    assert question in results(run)[-1]
    assert shop.done == []
    await one.run("yes", message_history=run.all_messages())
    assert shop.done == ["cancelled 1001"]


async def test_two_calls_in_one_message_are_answered_one_by_one() -> None:
    shop = Shop()
    shop.orders["1003"] = {"order_id": "1003", "status": "paid"}
    look = [*LOOK, call("see", "get_order", order_id="1003")]
    one = agent(shop, look, [*CANCEL, call("other", "cancel_order", order_id="1003")], "So it is.")
    run = await one.run("cancel orders 1001 and 1003")
    while isinstance(run.output, DeferredToolRequests):
        answers = {waits.tool_call_id: waits.tool_call_id == "other" for waits in run.output.approvals}
        run = await one.run(
            message_history=run.all_messages(), deferred_tool_results=DeferredToolResults(approvals=answers)
        )
    assert shop.done == ["cancelled 1003"]


async def test_a_failure_of_the_tool_is_the_tools_own() -> None:
    with pytest.raises(KeyError):
        await agent(Shop(), [call("look", "get_order", order_id="9")], "Hm.").run("what about order 9?")
