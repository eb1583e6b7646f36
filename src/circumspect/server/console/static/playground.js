// The playground: what is said goes out and its answer comes in as a stream; what went on inside is fetched as a fragment.
import { events } from "./events.js";

const form = document.getElementById("play");
const said = document.getElementById("said");
const doing = document.getElementById("doing");
const choice = document.getElementById("choice");
const input = form.elements.content;
let intent = null;
let busy = false;
let seen = [...said.querySelectorAll("[data-turn]")].at(-1)?.dataset.turn; // a typed yes is for what stood there

function bubble(by, text) {
  const box = document.createElement("article");
  box.className = "bubble " + by;
  const words = document.createElement("div");
  words.className = "text";
  words.dir = "auto";
  words.textContent = text;
  const who = document.createElement("div");
  who.className = "by";
  who.textContent = form.dataset[by];
  box.append(words, who);
  said.append(box);
  said.scrollTop = said.scrollHeight;
  return words;
}

function ask(pending) {
  intent = pending?.kind === "confirmation" ? pending.intent_id : null;
  choice.hidden = !intent;
}

async function send(where, fields) {
  if (busy) return;
  busy = true;
  ask(null);
  doing.textContent = form.dataset.thinking;
  let growing = null;
  try {
    const response = await fetch(form.action + where, { method: "POST", body: new URLSearchParams(fields) });
    if (!response.ok) throw new Error(response.status);
    for await (const [name, data] of events(response)) {
      if (name === "step") doing.textContent = form.dataset[data.kind] || "";
      if (name === "text") {
        said.setAttribute("aria-busy", "true");
        growing ||= bubble("agent", "");
        growing.textContent += data.text;
        said.scrollTop = said.scrollHeight;
      }
      if (name === "error") throw new Error(data.code);
      if (name === "done") {
        if (growing) growing.textContent = data.reply;
        if (data.reply) seen = data.turn_id;
        ask(data.pending);
      }
    }
    doing.textContent = "";
  } catch {
    doing.textContent = form.dataset.failed;
  } finally {
    busy = false;
    said.removeAttribute("aria-busy");
    htmx.trigger(document.body, "live-conversation");
  }
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  const text = input.value.trim();
  if (!text || busy) return;
  input.value = "";
  bubble("user", text);
  send("/messages", seen ? { content: text, seen } : { content: text });
});
input.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    form.requestSubmit();
  }
});
document.body.addEventListener("htmx:afterSettle", () => {
  const inside = document.getElementById("inside");
  inside.scrollTop = inside.scrollHeight;
});
choice.addEventListener("click", (event) => {
  const button = event.target.closest("[data-answer]");
  if (!button || !intent || busy) return;
  bubble("user", button.textContent);
  send("/confirmations", { intent_id: intent, answer: button.dataset.answer });
});
said.scrollTop = said.scrollHeight;
