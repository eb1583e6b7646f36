"""The package for TypeScript against a server: asked, answered, run, told, checked; refused; tried again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.patience import wait_until
from tests.server.house import House
from tests.server.node_client import run_in_node

EXAMPLES = Path(__file__).parents[2] / "examples"
POLICY = (EXAMPLES / "adapters" / "policy.yaml").read_text()
OPENING = """
import { Circumspect } from "circumspect";
const { URL: url, KEY: key } = process.env;
const client = new Circumspect({ url, key });
const ran = [];
const cancel = ({ order_id }) => { ran.push(order_id); return { cancelled: order_id }; };
const talk = (order, status) => [
  { role: "user", content: `please cancel order ${order}` },
  { role: "assistant", content: null, tool_calls: [
    { id: "1", type: "function", function: { name: "get_order", arguments: JSON.stringify({ order_id: order }) } }] },
  { role: "tool", tool_call_id: "1", content: JSON.stringify({ order_id: order, status }) },
];
const propose = (conversation, order, status, more = {}) => client.rule({
  call: { tool: "cancel_order", arguments: { order_id: order }, id: "2" },
  conversation, messages: talk(order, status), ...more });
const fails = async (promise) => {
  try { return { nothing: await promise }; }
  catch (error) { return { name: error.name, status: error.status, code: error.code, problem: error.problem,
    fix: error.fix, message: error.message }; }
};
const show = (value) => console.log(JSON.stringify(value));
"""
APPROVAL = """
import { generateText, stepCountIs } from "ai";
import { Circumspect } from "circumspect";
import { guard } from "circumspect/vercel";
import { carelessModel, openShop } from "./shop.mjs";
const { tools, done } = openShop();
const connect = () => new Circumspect({ url: process.env.URL, key: process.env.KEY });
const client = connect();
const begin = async (conversation, options = {}) => {
  const rest = { model: carelessModel("10001"), stopWhen: stepCountIs(5), maxRetries: 0 };
  const messages = [{ role: "user", content: "Cancel order 10001" }];
  const guarded = guard(tools, { client, conversation, ...options });
  const asked = await generateText({ ...rest, ...guarded, messages });
  const { approvalId } = asked.content.find((part) => part.type === "tool-approval-request");
  const answer = (approved) => [...messages, ...structuredClone(asked.response.messages),
    { role: "tool", content: [{ type: "tool-approval-response", approvalId, approved }] }];
  const goOn = async (messages, more = {}) => {
    const model = carelessModel("10001");
    const say = { ...rest, model, ...guard(tools, { client, conversation, ...options, ...more }), messages };
    // The model's last word only: what was approved runs before it is asked.
    model.doGenerate = async (given) => (model.last = given.prompt.at(-1), (await import("./words.mjs")).done);
    await generateText(say);
    return model.last.content[0].output;
  };
  return { answer, goOn };
};
const show = (value) => console.log(JSON.stringify(value));
"""
WORDS = """
export const done = { content: [{ type: "text", text: "Done." }], finishReason: { unified: "stop" }, warnings: [],
  usage: { inputTokens: { total: 1 }, outputTokens: { total: 1 } } };
"""


@pytest.fixture(scope="module")
def shop(house: House) -> House:
    put = house.key().put("/v1/admin/policies", json={"text": POLICY})
    assert put.status_code == 200, put.text
    look = {"call": {"tool": "get_order", "arguments": {"order_id": "10001"}}, "conversation": "first"}
    # The policy takes a moment to reach the worker.
    wait_until(lambda: house.key("shop", "chat").post("/v1/rulings", json=look).json()["verdict"] == "allow")
    return house


@pytest.fixture
def talk(shop: House, tmp_path: Path) -> Any:
    def run(script: str, **environment: str) -> Any:
        return run_in_node(OPENING + script, tmp_path, URL=shop.url, KEY=shop.token("shop", "chat"), **environment)

    return run


def test_asked_answered_run_told_and_checked(talk: Any) -> None:
    told = talk("""
        const asked = await propose("ts-1", "10001", "paid");
        const again = await propose("ts-1", "10001", "paid");
        const held = await fails(client.run(asked, cancel));
        const let_ = await client.answer(asked, "yes, do it");
        const stands = await client.get(asked);
        const results = [await client.run(let_, cancel), await client.run(let_, cancel), await client.run(stands, cancel)];
        const late = await client.result(let_, { error: "it did not work" });
        const check = (text) => client.checkReply({ text, conversation: "ts-1", messages: talk("10001", "paid") });
        const replies = [await check("I have cancelled order 10001."), await check("I have refunded you 500 dollars.")];
        show({ asked, again, held, let_, stands, results, ran, late, replies });
    """)
    assert told["asked"]["verdict"] == "ask"
    assert told["again"]["intent"] == told["asked"]["intent"]
    assert "10001" in told["asked"]["ask_user"]
    assert (told["held"]["name"], told["held"]["message"]) == ("CallHeld", told["asked"]["tell_model"])
    assert told["let_"]["verdict"] == told["stands"]["verdict"] == "allow"
    assert told["results"] == [{"cancelled": "10001"}] * 3
    assert told["ran"] == ["10001"]
    assert told["late"] == {"state": "succeeded"}
    assert [one["ok"] for one in told["replies"]] == [True, False]


def test_a_no_stays_a_no(talk: Any) -> None:
    told = talk("""
        const asked = await propose("ts-2", "10001", "paid");
        const no = await client.answer(asked, false);
        const yes = await client.answer(asked, true);
        const held = await fails(client.run(yes, cancel));
        const result = await fails(client.result(asked, { result: "ok" }));
        show({ verdicts: [asked.verdict, no.verdict, yes.verdict], held, result, ran });
    """)
    assert told["verdicts"] == ["ask", "deny", "deny"]
    assert told["held"]["name"] == "CallHeld"
    assert (told["result"]["status"], told["result"]["code"]) == (409, "call_held")
    assert told["ran"] == []


def test_a_shipped_order_is_denied_and_the_model_is_told_why(talk: Any) -> None:
    told = talk("""
        const ruling = await propose("ts-3", "10002", "shipped");
        const held = await fails(client.run(ruling, cancel));
        show({ verdict: ruling.verdict, tell: ruling.tell_model, held, ran });
    """)
    assert told["verdict"] == "deny"
    assert "An order that has been shipped cannot be cancelled" in told["tell"] == told["held"]["message"]
    assert told["ran"] == []


def test_what_is_somebody_elses_is_not_there(talk: Any) -> None:
    told = talk("""
        const asked = await propose("ts-4", "10001", "paid", { person: "anna" });
        const refused = [
          await fails(client.get(asked)),
          await fails(client.get(asked, { person: "mallory" })),
          await fails(client.answer(asked, true)),
          await fails(client.answer(asked, true, { person: "mallory" })),
        ];
        const let_ = await client.answer(asked, true, { person: "anna" });
        const unnamed = await fails(client.run(let_, cancel));
        const result = await client.run(let_, cancel, { person: "anna" });
        const wrong = await fails(new Circumspect({ url, key: "csk_wrong" }).get(asked));
        show({ refused, verdict: let_.verdict, unnamed, result, ran, wrong });
    """)
    assert [(one["name"], one["status"]) for one in told["refused"]] == [("NotFound", 404)] * 4
    assert all(one["code"] and one["problem"] and one["fix"] for one in told["refused"])
    assert told["verdict"] == "allow"
    assert told["unnamed"]["name"] == "ResultNotReported"
    assert (told["result"], told["ran"]) == ({"cancelled": "10001"}, ["10001"]), "reported late, and not run again"
    assert (told["wrong"]["name"], told["wrong"]["status"]) == ("AccessRefused", 401)


def test_an_error_of_the_function_is_reported_and_comes_through(talk: Any) -> None:
    told = talk("""
        const asked = await propose("ts-5", "10001", "paid");
        const let_ = await client.answer(asked, "yes");
        const breaks = () => { ran.push("tried"); throw new Error("the shop is closed"); };
        const errors = [await fails(client.run(let_, breaks)), await fails(client.run(let_, breaks))];
        const late = await client.result(let_, { result: "ok" });
        show({ errors: errors.map((one) => one.message), ran, late });
    """)
    assert told["errors"] == ["the shop is closed"] * 2
    assert told["ran"] == ["tried"]
    assert told["late"] == {"state": "failed"}


def test_what_a_moment_can_mend_is_tried_again_and_nothing_else(talk: Any) -> None:
    told = talk("""
        const answers = (list) => {
          let sent = 0;
          const fetch = async (...request) => {
            const next = list[Math.min(sent++, list.length - 1)];
            if (next === "broken") throw new TypeError("fetch failed");
            if (next === "real") return globalThis.fetch(...request);
            return new Response(next.text ?? JSON.stringify({ code: "x", problem: "No.", fix: "Wait." }), next);
          };
          return { client: new Circumspect({ url, key, fetch, retries: 2 }), sent: () => sent };
        };
        const wanted = { call: { tool: "get_order", arguments: { order_id: "10001" } }, conversation: "ts-6" };
        const tried = async (...list) => {
          const { client, sent } = answers(list);
          const got = await fails(client.rule(wanted));
          return [got.nothing?.verdict ?? got.name, got.code ?? null, sent()];
        };
        show([
          await tried("broken", { status: 503 }, "real"),
          await tried({ status: 409, headers: { "retry-after": "0" } }, "real"),
          await tried("broken"),
          await tried({ status: 409 }, "real"),
          await tried({ status: 422 }, "real"),
          await tried({ status: 200, text: "<html>" }, "real"),
        ]);
    """)
    assert told == [
        ["allow", None, 3],
        ["allow", None, 2],
        ["Unreachable", "unreachable", 3],
        ["CircumspectError", "x", 1],
        ["CircumspectError", "x", 1],
        ["CircumspectError", "not_the_gate", 1],
    ]


def test_a_request_ends_in_time_or_when_it_is_given_up(talk: Any) -> None:
    told = talk("""
        const { createServer } = await import("node:http");
        const silent = createServer(() => {});
        await new Promise((ready) => silent.listen(0, "127.0.0.1", ready));
        const there = `http://127.0.0.1:${silent.address().port}`;
        const late = await fails(new Circumspect({ url: there, key, timeout: 20 }).get("turn_1"));
        const stop = new AbortController();
        const given = fails(new Circumspect({ url: there, key }).get("turn_1", { signal: stop.signal }));
        stop.abort(new Error("the user left"));
        show({ late, given: (await given).message });
        silent.close().closeAllConnections();
    """)
    assert (told["late"]["name"], told["late"]["code"]) == ("Unreachable", "timeout")
    assert told["given"] == "the user left"


@pytest.fixture
def vercel(shop: House, tmp_path: Path) -> Any:
    (tmp_path / "shop.mjs").write_text((EXAMPLES / "typescript" / "shop.mjs").read_text())
    (tmp_path / "words.mjs").write_text(WORDS)

    def run(script: str) -> Any:
        return run_in_node(script, tmp_path, "ai", "zod", URL=shop.url, KEY=shop.token("shop", "chat"))

    return run


def test_vercels_loop_before_cancels_what_was_shipped(vercel: Any) -> None:
    told = vercel((EXAMPLES / "typescript" / "before.mjs").read_text())
    assert told == {"agent": "Order 10002 is cancelled.", "shop": ["cancelled 10002"]}


def test_vercels_loop_after_holds_it_and_waits_for_approval_of_the_other(vercel: Any) -> None:
    told = vercel((EXAMPLES / "typescript" / "after.mjs").read_text())
    assert "An order that has been shipped cannot be cancelled" in told["told"]
    assert told["asked"].startswith("Just to confirm: you want me to cancel order 10001?")
    assert told["afterShipped"] == told["afterAsked"] == []
    assert told["shop"] == ["cancelled 10001"]


def test_an_approval_counts_once_and_its_result_is_reported(vercel: Any, shop: House) -> None:
    told = vercel(
        APPROVAL
        + """
        const { answer, goOn } = await begin("v-1");
        show({ outputs: [await goOn(answer(true)), await goOn(answer(true))], done });
        """
    )
    assert [one["value"] for one in told["outputs"]] == [{"cancelled": "10001"}] * 2
    assert told["done"] == ["cancelled 10001"]
    claim = {"text": "I have cancelled order 10001.", "conversation": "v-1"}
    assert shop.key("shop", "chat").post("/v1/replies/check", json=claim).json()["ok"]


@pytest.mark.parametrize(
    "approved",
    [
        "await goOn(answer(false))",
        # The history comes back with another order in it.
        "await goOn(JSON.parse(JSON.stringify(answer(true)).replaceAll('10001\"}', '10003\"}')))",
        # Another process, which does not know which question was put.
        "await goOn(answer(true), { client: connect() })",
        "await goOn(answer(true), { conversation: 'v-other' })",
    ],
    ids=["no", "changed", "unknown", "elsewhere"],
)
def test_nothing_but_the_approval_of_that_very_call_runs_it(vercel: Any, approved: str, request: Any) -> None:
    name = request.node.callspec.id
    told = vercel(
        APPROVAL
        + f"""
        const {{ answer, goOn }} = await begin("v-{name}");
        show({{ output: {approved}, done }});
        """
    )
    assert told["done"] == []
    assert name == "no" or told["output"]["value"].startswith("NOT RUN")


def test_a_store_of_questions_carries_an_approval_to_another_process(vercel: Any) -> None:
    told = vercel(
        APPROVAL
        + """
        const questions = new Map();
        const { answer, goOn } = await begin("v-3", { questions });
        const output = await goOn(answer(true), { client: connect(), questions: new Map(questions) });
        show({ output, done });
        """
    )
    assert told["output"]["value"] == {"cancelled": "10001"}
    assert told["done"] == ["cancelled 10001"]
