// An agent of the Vercel AI SDK as it is: a shipped order is cancelled, because the model said so.
import { generateText, stepCountIs } from "ai";
import { carelessModel, openShop } from "./shop.mjs";

const { tools, done } = openShop();
const messages = [{ role: "user", content: "Cancel order 10002" }];
const run = await generateText({ model: carelessModel("10002"), tools, messages, stopWhen: stepCountIs(5) });
console.log(JSON.stringify({ agent: run.text, shop: done }));
