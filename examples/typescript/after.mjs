// The same agent with two lines more: the shipped order stays, and the other one waits for approval.
// URL and KEY are of a server whose policy is examples/adapters/policy.yaml.
import { generateText, stepCountIs } from "ai";
import { Circumspect } from "circumspect";
import { guard } from "circumspect/vercel";
import { carelessModel, openShop } from "./shop.mjs";

const { tools, done } = openShop();
const client = new Circumspect({ url: process.env.URL, key: process.env.KEY });
const stopWhen = stepCountIs(5);

const shipped = await generateText({
  model: carelessModel("10002"),
  messages: [{ role: "user", content: "Cancel order 10002" }],
  stopWhen,
  ...guard(tools, { client, conversation: "example-1" }),
});
const told = shipped.steps[1].toolResults[0].output;
const afterShipped = [...done];

const rest = { model: carelessModel("10001"), stopWhen, ...guard(tools, { client, conversation: "example-2" }) };
const messages = [{ role: "user", content: "Cancel order 10001" }];
const asked = await generateText({ ...rest, messages });
const request = asked.content.find((part) => part.type === "tool-approval-request");
const afterAsked = [...done];

const yes = { type: "tool-approval-response", approvalId: request.approvalId, approved: true };
messages.push(...asked.response.messages, { role: "tool", content: [yes] });
const run = await generateText({ ...rest, messages });
console.log(JSON.stringify({ told, afterShipped, asked: request.reason, afterAsked, agent: run.text, shop: done }));
