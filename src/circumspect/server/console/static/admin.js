// Pages for administrators: the progress of a trial, the line of a finding, the value of a slider. A module, so that its names are its own.
document.addEventListener("click", (event) => {
  const finding = event.target.closest("[data-shows-line]");
  if (finding) show(document.getElementById("text"), Number(finding.dataset.showsLine));
  const starts = event.target.closest("button[data-trial]");
  if (starts) run(starts);
});

document.addEventListener("input", (event) => {
  if (event.target.dataset.shows) document.getElementById(event.target.dataset.shows).textContent = event.target.value;
  const old = document.getElementById("trial-old");
  if (event.target.id === "text" && old && document.getElementById("trial").children.length) old.hidden = false;
});

function show(area, line) {
  if (document.getElementById("editor")) {
    document.dispatchEvent(new CustomEvent("circumspect:line", { detail: line }));
    return;
  }
  const lines = area.value.split("\n"), start = lines.slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
  area.focus();
  area.setSelectionRange(start, start + (lines[line - 1] || "").length);
  area.scrollTop = (area.scrollHeight / lines.length) * Math.max(0, line - 4);
}

// A line of JSON for each conversation, and at last what our own server rendered.
async function run(button) {
  const target = document.getElementById("trial"), box = document.getElementById("trial-progress");
  const bar = box.querySelector("progress"), said = box.querySelector("span"), words = said.dataset.words;
  const put = (html) => htmx.swap(target, html, { swapStyle: "innerHTML" });
  const step = (done, of) => {
    bar.max = Math.max(1, of);
    bar.value = done;
    said.textContent = words.replace("DONE", done).replace("ALL", of);
  };
  const stopping = new AbortController();
  button.disabled = true;
  box.hidden = false;
  box.querySelector("button").onclick = () => stopping.abort();
  document.getElementById("trial-old").hidden = true;
  step(0, 0);
  target.replaceChildren();
  try {
    const answer = await fetch(button.dataset.trial, {
      method: "POST", body: new URLSearchParams(new FormData(button.form)), headers: { "HX-Request": "true" }, signal: stopping.signal,
    });
    if (answer.headers.get("HX-Redirect")) { location.href = answer.headers.get("HX-Redirect"); return; }
    if (!answer.ok) { put(await answer.text()); return; }
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
      const lines = (rest + piece.value).split("\n");
      rest = lines.pop();
      for (const line of lines.map((one) => JSON.parse(one))) {
        if (line.html) put(line.html); else step(line.done, line.of);
      }
    }
  } catch (problem) {
    if (problem.name !== "AbortError") target.replaceChildren(document.getElementById("trial-lost").content.cloneNode(true));
  } finally {
    button.disabled = false;
    box.hidden = true;
  }
}

// A text that was made of a held call is tried at once.
const atOnce = document.querySelector("button[data-at-once]");
if (atOnce) run(atOnce);

// The look of the chat while it is set; its colours are the server's, which sees to it that all can be read.
const previews = document.querySelector("form[data-previews]");
previews?.addEventListener("input", (event) => {
  const sheet = document.getElementById("brand"), name = document.querySelector("[data-shows-name]");
  const greeting = document.querySelector("[data-shows-greeting]"), own = previews.elements["greeting-" + document.documentElement.lang];
  if (event.target.name === "colour") sheet.href = sheet.href.replace(/colour=\w+/, "colour=" + event.target.value.slice(1));
  name.textContent = previews.elements.name.value.trim() || name.dataset.showsName;
  greeting.textContent = own?.value.trim() || greeting.dataset.showsGreeting;
});
