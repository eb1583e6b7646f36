// The little that HTML and htmx do not do: theme, live hints, tooltips, copying, phone menu, one press of a button. No text of a page's content is ever read as HTML.
"use strict";

const root = document.documentElement;

function dark() {
  return (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
}

document.addEventListener("click", (event) => {
  const toggle = event.target.closest("[data-theme-toggle]");
  if (toggle) {
    root.dataset.theme = dark() ? "light" : "dark";
    try { localStorage.setItem("circumspect-theme", root.dataset.theme); } catch { /* for this page only */ }
  }
  const copy = event.target.closest("[data-copy]");
  if (copy) {
    const text = copy.dataset.copy === "here" ? location.href : copy.dataset.copy;
    navigator.clipboard?.writeText(text).then(() => {
      copy.dataset.was ??= copy.textContent;
      copy.textContent = copy.dataset.done;
      setTimeout(() => { copy.textContent = copy.dataset.was; }, 1500);
    });
  }
  const opens = event.target.closest("[data-opens]");
  if (opens) document.getElementById(opens.dataset.opens)?.showModal();
  const closes = event.target.closest("[data-closes]");
  if (closes) closes.closest("dialog")?.close();
});

// A hint only says that something changed; the page then asks for it in an ordinary request. What was missed while the server was away is asked for when it is back.
const AGAIN = 5000;
const away = document.getElementById("unreachable"), ended = document.getElementById("ended");
let source = null, lost = false;
function topics() { return ("inbox " + (document.body.dataset.live || "")).trim(); }
function refresh() {
  for (const topic of topics().split(/\s+/)) htmx.trigger(document.body, "live-" + topic.split(":")[0]);
}
function listen() {
  if (source || document.hidden || !document.querySelector("header.side")) return;
  source = new EventSource(document.body.dataset.base + "live?topics=" + encodeURIComponent(topics()));
  source.onmessage = (event) => htmx.trigger(document.body, "live-" + event.data.split(":")[0]);
  source.onopen = () => { if (lost) { lost = false; refresh(); } };
  source.onerror = () => {
    lost = true;
    if (source?.readyState !== EventSource.CLOSED) return; // the browser tries again by itself
    stop();
    setTimeout(() => { if (!document.hidden) { refresh(); listen(); } }, AGAIN);
  };
}
function stop() {
  source?.close();
  source = null;
}
document.addEventListener("visibilitychange", () => {
  if (document.hidden) { stop(); return; }
  refresh();
  listen();
});

// What somebody has begun to write stays where it is: a sign-in that ended and a server that is away are said beside it.
function writing() {
  return [...document.querySelectorAll("main textarea, main input[type=text], main input:not([type])")].some((one) => one.value !== one.defaultValue);
}
document.addEventListener("htmx:beforeOnLoad", (event) => {
  if (!away) return;
  const { status } = event.detail.xhr, leaves = event.detail.xhr.getResponseHeader("HX-Redirect");
  away.hidden = true;
  if (status === 401 && leaves && writing()) { event.preventDefault(); ended.hidden = false; }
  else if (status < 400) ended.hidden = true;
});
document.addEventListener("htmx:sendError", () => { if (away) away.hidden = false; });
addEventListener("pagehide", stop);
addEventListener("pageshow", listen);

// Tooltips for everything that carries data-tip, with the pointer and with the keyboard.
const tip = document.getElementById("tip");
function show(target) {
  const marked = target.closest?.("[data-tip], .plot a[aria-label]");
  if (!marked) { tip.hidden = true; return; }
  tip.textContent = marked.dataset.tip ?? marked.getAttribute("aria-label");
  tip.hidden = false;
  const box = marked.getBoundingClientRect(), own = tip.getBoundingClientRect();
  const x = Math.min(Math.max(8, box.left + box.width / 2 - own.width / 2), innerWidth - own.width - 8);
  const above = box.top - own.height - 6;
  tip.style.transform = `translate(${x}px, ${above > 0 ? above : box.bottom + 6}px)`;
}
document.addEventListener("pointerover", (event) => show(event.target));
document.addEventListener("focusin", (event) => show(event.target));
document.addEventListener("focusout", () => { tip.hidden = true; });
document.addEventListener("keydown", (event) => { if (event.key === "Escape") tip.hidden = true; });

// On a phone the menu starts closed.
const menu = document.querySelector("details.menu");
const narrow = matchMedia("(max-width: 60rem)");
function fit() { if (menu) menu.open = !narrow.matches; }
narrow.addEventListener("change", fit);
fit();
listen();

// A form is sent once, however often its button is pressed; coming back to the page makes it ready again.
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (event.defaultPrevented || form.method !== "post" || form.hasAttribute("hx-post")) return;
  if (form.dataset.sent) event.preventDefault();
  form.dataset.sent = "1";
});
addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll("form[data-sent]")) delete form.dataset.sent;
});

// What does not fit is the oldest: charts of days begin at their end.
function newest(within) {
  for (const chart of within.querySelectorAll(".card .chart:not(.small)")) {
    chart.scrollLeft = getComputedStyle(chart).direction === "rtl" ? -chart.scrollWidth : chart.scrollWidth;
  }
}
newest(document);
document.addEventListener("htmx:afterSwap", (event) => newest(event.target));

// A choice in a filter applies at once; a saved answer goes where the cursor was.
document.addEventListener("change", (event) => {
  const puts = event.target.dataset.puts, field = puts && event.target.form.elements[puts];
  if (field) {
    field.setRangeText(event.target.value, field.selectionStart, field.selectionEnd, "end");
    event.target.value = "";
    field.focus();
  }
  if (event.target.matches("[data-submits]")) event.target.form.requestSubmit();
});

// What waited for a proof goes on by itself.
document.querySelector("form[data-goes-on]")?.submit();
