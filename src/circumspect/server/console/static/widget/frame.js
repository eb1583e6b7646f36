// The chat in the frame. What somebody wrote is text and never HTML.
//
// Nothing is lost and nothing is doubled: what the user says waits in an outbox, in this tab's storage, until its answer is
// there, and goes out under one Idempotency-Key however often it has to be sent. After a reload the conversation is read
// again; messages are known again by that key. Where the browser gives a frame of another site no storage, the page around
// keeps it: only sites that the tenant allows can be around (frame-ancestors).
import { events } from "../events.js";
import { drop, reserve, thumbs } from "./thumbs.js";

const words = JSON.parse(document.body.dataset.words);
const key = document.body.dataset.key;
const log = document.getElementById("log");
const status = document.getElementById("status");
const choice = document.getElementById("choice");
const form = document.getElementById("form");
const input = document.getElementById("words");
const ai = document.getElementById("ai");
const callsPerson = document.getElementById("person");
const SILENCE = 45_000; // the server says at least something every 15 seconds
const ATTEMPTS = 6; // of a message that the server takes and fails at

// --- what is kept ------------------------------------------------------------------------------------------------------

const place = "circumspect:" + key.slice(0, 20);
const state = { conversation: null, visitor: "", outbox: [], thumbs: {} };
let own = true;
try { sessionStorage.getItem(place); } catch { own = false; }
function save() {
  const text = JSON.stringify(state);
  document.body.dataset.outbox = state.outbox.length;
  if (!own) { tell("keep", text); return; }
  try { sessionStorage.setItem(place, text); } catch { /* for as long as the frame is open */ }
}
function tell(word, text) { if (parent !== window) parent.postMessage({ circumspect: word, text }, "*"); }
tell("here");
function inquire(word, answer) {
  if (parent === window) return null;
  return new Promise((resolve) => {
    addEventListener("message", (event) => {
      if (event.source === parent && event.data?.circumspect === answer) resolve(event.data.text);
    });
    setTimeout(resolve, 2_000, null);
    tell(word);
  });
}
async function recall() {
  const text = own ? sessionStorage.getItem(place) : await inquire("recall", "kept");
  try {
    const { conversation, visitor, outbox, thumbs } = JSON.parse(text || "{}");
    if (typeof conversation === "string") state.conversation = conversation;
    if (typeof visitor === "string") state.visitor = visitor;
    if (Array.isArray(outbox)) state.outbox.push(...outbox.filter((item) => typeof item?.key === "string"));
    for (const [turn, one] of Object.entries(thumbs || {})) {
      if (one?.conversation === conversation && ["up", "down"].includes(one.thumb)) state.thumbs[turn] = one;
    }
  } catch { /* begin anew */ }
}
function fresh() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

// --- what is seen ------------------------------------------------------------------------------------------------------

let last = -1; // the number of the newest message that the server told of
let seen = null; // the turn of the newest reply: a typed yes is for what stood there
let question = null;
let away = false; // the frame is closed
const bubbles = new Map();

function bubble(id, by, text) {
  const box = document.createElement("div");
  box.className = "said " + by;
  const who = document.createElement("span");
  who.className = by === "person" ? "by" : "by unseen";
  who.textContent = words[by === "user" ? "you" : by] + (by === "person" ? "" : ":");
  const said = document.createElement("p");
  said.dir = "auto";
  said.textContent = text;
  box.append(who, said);
  log.append(box);
  if (id) bubbles.set(id, box);
  down();
  return box;
}
function note(text) {
  const line = document.createElement("p");
  line.className = "note";
  line.textContent = text;
  log.append(line);
  down();
  return line;
}
function down() { log.scrollTop = log.scrollHeight; }
function say(text) { if (status.textContent !== text) status.textContent = text; }
function ask(pending) {
  question = pending?.intent_id || null;
  choice.hidden = !question;
}
function unread() { if (away) tell("news"); }

// A message as the server has it; one that is here already, under its key or its turn, is only recognised.
function show(message) {
  last = Math.max(last, message.seq);
  const id = message.by === "user" ? message.key || "seq:" + message.seq : message.turn;
  if (message.by !== "user") seen = message.turn;
  const there = bubbles.get(id);
  if (there) { there.classList.remove("waits", "failed"); return; }
  const box = bubble(id, message.by, message.text);
  if ("thumb" in message) rate(box, state.conversation, message.turn, message);
  down();
  if (message.by !== "user") unread();
}

// --- talking to the server ---------------------------------------------------------------------------------------------

class Problem extends Error {
  constructor(code, { after = 0, taken = false, final = false } = {}) {
    super(code);
    Object.assign(this, { code, after, taken, final });
  }
}

let user = ""; // the token of whoever is signed in on the page around, if it says so
async function call(path, options = {}, signal = AbortSignal.timeout(20_000)) {
  const token = user || state.visitor;
  const response = await fetch(document.body.dataset.base + "widget/conversations" + path, {
    ...options,
    signal,
    credentials: "omit",
    cache: "no-store",
    referrerPolicy: "no-referrer",
    headers: {
      Authorization: "Bearer " + key,
      "Content-Type": "application/json",
      ...(token && { "X-End-User-Token": token }),
      ...options.headers,
    },
  });
  if (response.ok) return response;
  const after = 1000 * (Number(response.headers.get("Retry-After")) || 0);
  const { code = "refused" } = await response.json().catch(() => ({}));
  if (response.status === 429) throw new Problem("too-many", { after: after || 5000 });
  if (code === "end_user_token" && (await renewed(token))) return call(path, options, signal);
  if (response.status === 404) throw new Problem("gone");
  if (response.status >= 500 || response.status === 409 || response.status === 408) throw new Problem(code, { after, taken: true });
  throw new Problem(response.status === 401 || response.status === 403 ? "unavailable" : code, { final: true });
}

// The server does not know who this is any more: the page may have a newer token; a visitor is a new one.
async function renewed(token) {
  user = (await inquire("who", "user")) || "";
  if (!user) state.visitor = "";
  return user !== token && Boolean(user || token);
}

const rate = thumbs({ words, longest: Number(document.body.dataset.comment), kept: state.thumbs, save, call });

function forget() {
  state.conversation = null;
  last = -1;
  seen = null;
  for (const turn of Object.keys(state.thumbs)) delete state.thumbs[turn];
  for (const row of log.querySelectorAll(".thumbs")) row.remove();
}

async function conversation() {
  if (!state.conversation) {
    const made = await call("", { method: "POST", body: JSON.stringify({ language: document.documentElement.lang }) });
    const { id, visitor } = await made.json();
    state.conversation = id;
    if (visitor) state.visitor = visitor;
    save();
  }
  return "/" + state.conversation;
}

async function deliver(item) {
  const path = await conversation();
  const [where, body] = item.intent
    ? ["/confirmations", { intent_id: item.intent, decision: item.decision }]
    : ["/messages", { content: item.text, seen: item.seen }];
  const quiet = new AbortController();
  let timer = 0;
  const alive = () => { clearTimeout(timer); timer = setTimeout(() => quiet.abort(), SILENCE); };
  alive();
  let growing = null;
  try {
    const headers = { "Idempotency-Key": item.key, Accept: "text/event-stream" };
    const response = await call(path + where, { method: "POST", headers, body: JSON.stringify(body) }, quiet.signal);
    bubbles.get(item.key)?.classList.remove("waits", "failed");
    say(words.waiting);
    for await (const [name, data] of events(response, alive)) {
      if (name === "step") say(words["step-" + data.kind] || words.waiting);
      if (name === "text") {
        log.setAttribute("aria-busy", "true"); // read out when it is whole
        if (!growing) reserve(growing = bubble(null, "agent", ""));
        growing.querySelector("p").textContent += data.text;
        down();
      }
      if (name === "error") throw new Problem(data.code, { taken: true });
      if (name === "done") { finish(item, data, growing); return; }
    }
    throw new Problem("lost");
  } catch (problem) {
    drop(growing);
    throw problem;
  } finally {
    clearTimeout(timer);
    log.removeAttribute("aria-busy");
  }
}

function finish(item, result, growing) {
  say("");
  if (result.text) seen = result.turn;
  const there = bubbles.get(result.turn);
  if (there || !result.text) drop(growing);
  else {
    const box = growing || bubble(null, "agent", "");
    box.querySelector("p").textContent = result.text;
    bubbles.set(result.turn, box);
    rate(box, state.conversation, result.turn, {});
    down();
  }
  if (item.intent && !result.text && !result.pending) note(words.settled);
  ask(result.pending);
  if (!there) unread();
}

// --- the outbox --------------------------------------------------------------------------------------------------------

let busy = false;
let tries = 0;
let retry = 0;

async function pump() {
  if (busy) return;
  busy = true;
  clearTimeout(retry);
  try {
    while (state.outbox.length) {
      const item = state.outbox[0];
      try {
        await deliver(item);
        tries = 0;
        state.outbox.shift();
        save();
      } catch (problem) {
        if (!stumble(item, problem)) return;
      }
    }
  } finally {
    busy = false;
  }
  read(); // has a person taken over?
}

// True: go on with what is in the outbox now. False: wait.
function stumble(item, problem) {
  tries += 1;
  if (problem.code === "gone" && state.conversation) {
    forget();
    note(words.ended);
    if (item.intent) state.outbox.shift();
    save();
    return true;
  }
  if (problem.final || (problem.taken && tries >= ATTEMPTS)) {
    state.outbox.shift();
    save();
    tries = 0;
    say("");
    failed(item, problem);
    return true;
  }
  say(problem.code === "too-many" ? words["too-many"] : words.lost);
  retry = setTimeout(pump, problem.after || Math.min(15_000, 500 * 2 ** Math.min(tries, 5)));
  return false;
}

function failed(item, problem) {
  bubbles.get(item.key)?.classList.add("failed");
  const line = note(problem.code === "unavailable" ? words.unavailable : words.failed);
  if (problem.code === "unavailable") return;
  const again = document.createElement("button");
  again.type = "button";
  again.textContent = words.again;
  again.addEventListener("click", () => {
    line.remove();
    put(item); // under its old key: had it come through after all, its answer comes back
  });
  line.append(again);
}

function put(item) {
  state.outbox.push(item);
  save();
  pump();
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  const text = input.value.trim();
  if (!text) return;
  input.value = "";
  write(text);
});
function write(text) {
  ask(null);
  const item = { key: fresh(), text, seen };
  bubble(item.key, "user", text).classList.add("waits");
  if (!navigator.onLine) say(words["sent-later"]);
  put(item);
  input.focus();
}
// In words, so that it stands in the conversation and is heard as if it had been typed.
callsPerson.addEventListener("click", () => write(words["person-wish"]));
choice.addEventListener("click", (event) => {
  const button = event.target.closest("[data-choice]");
  if (!button || !question) return;
  const item = { key: fresh(), intent: question, decision: button.dataset.choice };
  ask(null);
  bubble(item.key, "user", button.textContent).classList.add("waits");
  put(item);
  input.focus();
});
input.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    form.requestSubmit();
  }
});

// --- what comes without being asked for --------------------------------------------------------------------------------

let person = false;
let reading = 0;

async function read() {
  if (!state.conversation || busy) return;
  try {
    const told = await (await call(`/${state.conversation}/messages?after=${last}`)).json();
    if (busy) return; // what came meanwhile tells the rest
    told.items.forEach(show);
    person = told.with_person;
    ai.textContent = person ? words["with-person"] : words.ai;
    callsPerson.hidden = person;
    if (!state.outbox.length) ask(told.pending);
  } catch (problem) {
    if (problem.code === "gone") { forget(); save(); }
  }
}
function listen() {
  clearTimeout(reading);
  const often = person && !away ? 3_000 : 20_000;
  reading = setTimeout(async () => {
    if (!document.hidden) await read();
    listen();
  }, often);
}
addEventListener("online", () => { tries = 0; pump(); });
document.addEventListener("visibilitychange", () => { if (!document.hidden) { read(); pump(); } });

// --- the page around ---------------------------------------------------------------------------------------------------

document.getElementById("close").addEventListener("click", () => tell("close"));
addEventListener("keydown", (event) => { if (event.key === "Escape") tell("close"); });
addEventListener("message", (event) => {
  if (event.source !== parent) return;
  if (event.data?.circumspect === "opened") { away = false; input.focus(); read(); }
  if (event.data?.circumspect === "closed") away = true;
});

bubble(null, "agent", words.greeting);
await recall();
user = (await inquire("who", "user")) || "";
await read();
for (const item of state.outbox) {
  if (item.text && !bubbles.has(item.key)) bubble(item.key, "user", item.text).classList.add("waits");
}
save();
pump();
listen();
