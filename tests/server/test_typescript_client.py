"""The package for TypeScript against a server: asked, answered, run, told, checked; refused; tried again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.patience import wait_until
from tests.server.house import House
from tests.server.node_client import run_in_node

PACKAGE = Path(__file__).parents[2] / "clients" / "typescript"
POLICY = (Path(__file__).parents[2] / "examples" / "adapters" / "policy.yaml").read_text()
OPENING = """
import { Circumspect } from "PACKAGE/index.js";
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
""".replace("PACKAGE", PACKAGE.as_uri())


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
