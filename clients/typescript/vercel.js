/**
 * Vercel AI SDK: `generateText({ model, messages, ...guard(tools, { client, conversation }) })`.
 *
 * A question is the SDK's own approval request, with the question as its reason, and the approval counts for exactly the
 * call that was shown. Everything else that is held gives the model the reason instead of a result.
 */

const MOST_REMEMBERED = 10_000;
/** How everything begins that a model gets instead of a result. */
const HELD = "NOT RUN";
const remembered = new WeakMap();

export function guard(tools, { client, conversation, person, questions = memoryOf(client) }) {
  const ruled = new Map();
  const keyOf = (toolCallId) => `${conversation}/${toolCallId}`;

  async function rule(tool, input, { toolCallId, messages, abortSignal }) {
    const call = { tool, arguments: input, id: toolCallId };
    const earlier = messagesBefore(messages, toolCallId);
    return client.rule({ call, conversation, person, messages: earlier }, { signal: abortSignal });
  }

  /** The approval is of this very call, as the gate asked about it; or there is none. */
  async function findQuestion(tool, input, { toolCallId, messages }) {
    if (!isApproved(messages, toolCallId)) return undefined;
    const asked = await questions.get(keyOf(toolCallId));
    return asked?.call === fingerprint(tool, input) ? asked : undefined;
  }

  async function decide(tool, input, options) {
    const asked = await findQuestion(tool, input, options);
    if (asked) return client.answer(asked.ruling, true, { person, signal: options.abortSignal });
    const before = ruled.get(options.toolCallId);
    ruled.delete(options.toolCallId);
    return before?.call === fingerprint(tool, input) ? before.ruling : rule(tool, input, options);
  }

  async function toolApproval({ toolCall, messages, toolsContext }) {
    const { toolName, toolCallId, input } = toolCall;
    const tool = Object.hasOwn(tools, toolName) ? tools[toolName] : undefined;
    const options = { toolCallId, messages };
    // The SDK asks once more before it runs what was approved. Whether that counts is found out in `execute`; a question
    // that is put only now was answered by nobody.
    if (isApproved(messages, toolCallId)) return "user-approval";
    const ruling = await rule(toolName, input, options);
    if (ruling.verdict === "ask" && ruling.intent) {
      await questions.set(keyOf(toolCallId), { ruling: ruling.id, call: fingerprint(toolName, input) });
      return { type: "user-approval", reason: ruling.ask_user };
    }
    if (ruling.verdict === "allow") {
      ruled.set(toolCallId, { ruling, call: fingerprint(toolName, input) });
      return (await wantsApproval(tool, input, { ...options, context: toolsContext?.[toolName] }))
        ? "user-approval"
        : undefined;
    }
    // A tool that runs elsewhere has no `execute` in which it could be held.
    return tool?.execute ? undefined : { type: "denied", reason: ruling.tell_model };
  }

  function guardTool(name, tool) {
    if (!tool.execute) return tool;
    const execute = async (input, options) => {
      const ruling = await decide(name, input, options);
      if (ruling.verdict !== "allow") return ruling.state === "succeeded" ? ruling.outcome : ruling.tell_model;
      const run = async (allowed) => lastOf(await tool.execute(allowed, options));
      return client.run(ruling, run, { person, signal: options.abortSignal });
    };
    return { ...tool, execute, ...(tool.toModelOutput && { toModelOutput: (result) => showHeld(result, tool) }) };
  }

  const guarded = Object.entries(tools).map(([name, tool]) => [name, guardTool(name, tool)]);
  return { tools: Object.fromEntries(guarded), toolApproval };
}

/** What was asked, for as long as the process lives. */
function memoryOf(client) {
  if (!remembered.has(client)) {
    const kept = new Map();
    const set = (key, asked) => {
      kept.set(key, asked);
      if (kept.size > MOST_REMEMBERED) kept.delete(kept.keys().next().value);
    };
    remembered.set(client, { get: (key) => kept.get(key), set });
  }
  return remembered.get(client);
}

function partsOf(message) {
  return Array.isArray(message?.content) ? message.content : [];
}

/** What was said before the message that proposes the call. */
function messagesBefore(messages, toolCallId) {
  const proposes = (part) => part.type === "tool-call" && part.toolCallId === toolCallId;
  const last = messages.at(-1)?.role === "tool" && isAnswered(messages, toolCallId)
    ? messages.findLastIndex((message) => partsOf(message).some(proposes))
    : -1;
  return last < 0 ? messages : messages.slice(0, last);
}

function findAnswer(messages, toolCallId) {
  const requests = messages.flatMap(partsOf).filter((part) => part.type === "tool-approval-request");
  const ours = new Set(requests.filter((part) => part.toolCallId === toolCallId).map((part) => part.approvalId));
  return partsOf(messages.at(-1)).find((part) => part.type === "tool-approval-response" && ours.has(part.approvalId));
}

function isAnswered(messages, toolCallId) {
  return findAnswer(messages, toolCallId) !== undefined;
}

function isApproved(messages, toolCallId) {
  return findAnswer(messages, toolCallId)?.approved === true;
}

async function wantsApproval(tool, input, options) {
  return typeof tool?.needsApproval === "function" ? tool.needsApproval(input, options) : tool?.needsApproval;
}

/** What is held reaches the model as it is: the tool's own rendering knows results only. */
function showHeld(result, tool) {
  const held = typeof result.output === "string" && result.output.startsWith(HELD);
  return held ? { type: "text", value: result.output } : tool.toModelOutput(result);
}

/** The same for the same call, whatever the order of keys. */
function fingerprint(tool, input) {
  const sort = (_, value) =>
    value && typeof value === "object" && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)))
      : value;
  return JSON.stringify([tool, input], sort);
}

/** A tool may report on its way; the last report is its result. */
async function lastOf(returned) {
  if (typeof returned?.[Symbol.asyncIterator] !== "function") return returned;
  let last;
  for await (const one of returned) last = one;
  return last;
}
