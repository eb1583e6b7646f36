"""Node's clients for OpenAI's Responses and Anthropic's Messages, and Vercel's SDK over both: asked, confirmed, run."""

from __future__ import annotations

import pytest
from tests.server.node_client import run_in_node

RESPONSES = """
import OpenAI from "openai";
const openai = new OpenAI({ baseURL: process.env.URL + "/v1", apiKey: process.env.KEY, maxRetries: 0 });
const parameters = { type: "object", properties: { order_id: { type: "string" } }, required: ["order_id"] };
const tools = [{ type: "function", name: "cancel_order", description: "Cancel an order.", parameters, strict: false }];
const rest = { model: "gpt-5", tools };
const asked = await openai.responses.create({ ...rest, input: "cancel order 5150" });
const confirmed = await openai.responses.stream({ ...rest, input: "yes", previous_response_id: asked.id }).finalResponse();
const call = confirmed.output.at(-1);
const input = [{ type: "function_call_output", call_id: call.call_id, output: "cancelled" }];
const done = await openai.responses.create({ ...rest, input, previous_response_id: confirmed.id });
let refused = null;
try { await openai.responses.create({ ...rest, input: "hello", tools: [{ type: "web_search" }] }); }
catch (error) { refused = [error.status, error.message]; }
console.log(JSON.stringify({ question: asked.output_text, outcome: asked.circumspect.outcome,
  call: [call.name, JSON.parse(call.arguments)], last: done.output_text, refused }));
"""
MESSAGES = """
import Anthropic from "@anthropic-ai/sdk";
const anthropic = new Anthropic({ baseURL: process.env.URL, apiKey: process.env.KEY, maxRetries: 0 });
const input_schema = { type: "object", properties: { order_id: { type: "string" } }, required: ["order_id"] };
const tools = [{ name: "cancel_order", description: "Cancel an order.", input_schema }];
const rest = { model: "claude-of-somebody-else", max_tokens: 500, tools };
const messages = [{ role: "user", content: "cancel order 5150" }];
const asked = await anthropic.messages.create({ ...rest, messages });
messages.push({ role: "assistant", content: asked.content }, { role: "user", content: "yes" });
const confirmed = await anthropic.messages.stream({ ...rest, messages }).finalMessage();
const call = confirmed.content.at(-1);
messages.push({ role: "assistant", content: confirmed.content },
  { role: "user", content: [{ type: "tool_result", tool_use_id: call.id, content: "cancelled" }] });
const done = await anthropic.messages.create({ ...rest, messages });
let refused = null;
try { await anthropic.messages.create({ ...rest, messages, tools: [{ type: "web_search_20250305", name: "search" }] }); }
catch (error) { refused = [error.status, error.message]; }
console.log(JSON.stringify({ question: asked.content[0].text, outcome: asked.circumspect.outcome,
  call: [call.name, call.input], last: done.content[0].text, refused }));
"""
VERCEL = """
import { generateText, stepCountIs, streamText, tool } from "ai";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { z } from "zod";
const connection = { baseURL: process.env.URL + "/v1", apiKey: process.env.KEY };
const model = process.env.MAKER === "openai"
  ? createOpenAI(connection)("gpt-4.1") : createAnthropic(connection)("claude-of-somebody-else");
const ran = [];
const tools = { cancel_order: tool({ description: "Cancel an order.", inputSchema: z.object({ order_id: z.string() }),
  execute: async ({ order_id }) => { ran.push(order_id); return { status: "cancelled" }; } }) };
const messages = [{ role: "user", content: "cancel order 5150" }];
const rest = { model, tools, system: "You work in a shop.", stopWhen: stepCountIs(5), maxRetries: 0 };
const asked = await generateText({ ...rest, messages });
const before = [...ran];
messages.push(...asked.response.messages, { role: "user", content: "yes" });
let last = "";
for await (const piece of streamText({ ...rest, messages }).textStream) last += piece;
console.log(JSON.stringify({ question: asked.text, before, ran, last }));
"""


@pytest.mark.parametrize(("script", "package"), [(RESPONSES, "openai"), (MESSAGES, "@anthropic-ai/sdk")])
def test_a_client_for_node_asks_confirms_runs_and_goes_on(house, tmp_path, script, package):
    told = run_in_node(script, tmp_path, package, URL=house.url, KEY=house.token("shop", "chat"))
    assert "5150" in told["question"]
    assert told["outcome"] == "asked"
    assert told["call"] == ["cancel_order", {"order_id": "5150"}]
    assert "cancelled" in told["last"]
    assert told["refused"][0] == 422
    assert "Leave them out" in told["refused"][1]


@pytest.mark.parametrize("maker", ["openai", "anthropic"])
def test_vercels_loop_runs_a_tool_only_after_the_yes(house, tmp_path, maker):
    told = run_in_node(
        VERCEL, tmp_path, "ai", f"@ai-sdk/{maker}", URL=house.url, KEY=house.token("shop", "chat"), MAKER=maker
    )
    assert "5150" in told["question"]
    assert (told["before"], told["ran"]) == ([], ["5150"])
    assert "cancelled" in told["last"]
