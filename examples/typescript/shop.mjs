// A shop with two tools, and a careless model that says what is written here: the examples need no key of a provider.
import { tool } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { z } from "zod";

export function openShop() {
  const orders = { 10001: "paid", 10002: "shipped" };
  const done = [];
  const inputSchema = z.object({ order_id: z.string() });
  const tools = {
    get_order: tool({
      description: "Look an order up.",
      inputSchema,
      execute: async ({ order_id }) => ({ order_id, status: orders[order_id] }),
    }),
    cancel_order: tool({
      description: "Cancel an order.",
      inputSchema,
      execute: async ({ order_id }) => {
        done.push(`cancelled ${order_id}`);
        return { cancelled: order_id };
      },
    }),
  };
  return { tools, done };
}

/** To "Cancel order …" it looks the order up, cancels it whatever it found, and says so. */
export function carelessModel(order) {
  const usage = {
    inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 1, text: 1, reasoning: 0 },
  };
  const call = (id, toolName) => ({
    content: [{ type: "tool-call", toolCallId: `${order}-${id}`, toolName, input: JSON.stringify({ order_id: order }) }],
    finishReason: { unified: "tool-calls", raw: undefined },
    usage,
    warnings: [],
  });
  const say = (text) => ({
    content: [{ type: "text", text }],
    finishReason: { unified: "stop", raw: undefined },
    usage,
    warnings: [],
  });
  const script = [call(1, "get_order"), call(2, "cancel_order"), say(`Order ${order} is cancelled.`)];
  return new MockLanguageModelV4({ doGenerate: script });
}
