// The keyboard: j and k along a list or from item to item, letters for what an item offers, Ctrl-K to go anywhere. A module, so that its names are its own.
const finder = document.getElementById("palette"), sure = document.getElementById("sure"), help = document.getElementById("keys");

// The letter of the key, whatever alphabet the keyboard writes.
function letter(event) {
  if (/^[a-z?]$/i.test(event.key)) return event.key.toLowerCase();
  return event.code?.startsWith("Key") ? event.code.slice(3).toLowerCase() : "";
}

function writes(target) {
  return Boolean(target.closest?.("input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable], [data-writes]"));
}

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.isComposing || !finder) return;
  const pressed = letter(event);
  if ((event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && pressed === "k") {
    event.preventDefault();
    find();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat && !"jk".includes(pressed)) return;
  if (!pressed || writes(event.target) || document.querySelector("dialog[open]")) return;
  if (pressed === "?" ? !help.showModal() : move(pressed) || mark(pressed) || act(pressed)) event.preventDefault();
});

// Along a list; true where there is one.
function move(pressed) {
  const rows = [...document.querySelectorAll("[data-item]")];
  if (!"jk".includes(pressed) || !rows.length) return false;
  const at = rows.findIndex((row) => row.contains(document.activeElement));
  const to = at < 0 ? 0 : Math.min(Math.max(at + (pressed === "j" ? 1 : -1), 0), rows.length - 1);
  rows[to].querySelector("a").focus();
  rows[to].scrollIntoView({ block: "nearest" });
  return true;
}

// The item that has the focus, for what is done with several at once.
function mark(pressed) {
  const box = pressed === "x" && document.activeElement?.closest("[data-item]")?.querySelector("[name=item]");
  if (!box) return false;
  box.click();
  return true;
}
document.addEventListener("change", (event) => {
  if (!event.target.matches("[data-marks-all]")) return;
  for (const box of document.querySelectorAll("[name=item]")) box.checked = event.target.checked;
});
// While something is marked, the list stays as it is.
document.addEventListener("htmx:beforeRequest", (event) => {
  if (event.target.id === "found" && document.querySelector("[name=item]:checked")) event.preventDefault();
});

// What the page offers under that letter. What cannot be taken back is asked about once more.
function act(pressed) {
  const offered = [...document.querySelectorAll(`[data-key="${CSS.escape(pressed)}"]`)].find((one) => one.checkVisibility());
  if (!offered) return false;
  if (offered.matches("textarea, input, select")) offered.focus();
  else if (offered.dataset.asks) ask(offered);
  else offered.click();
  return true;
}

function ask(offered) {
  document.getElementById("sure-what").textContent = offered.dataset.asks;
  document.getElementById("sure-yes").onclick = () => { sure.close(); offered.click(); };
  sure.showModal();
}

function find() {
  if (finder.open) return;
  finder.showModal();
  finder.querySelector("input").select();
}

document.addEventListener("click", (event) => {
  const opens = event.target.closest("[data-palette]");
  if (!opens || !finder || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  find();
});

// In the palette: arrows go from the words to what was found and back.
finder?.addEventListener("keydown", (event) => {
  const field = finder.querySelector("input"), found = [...finder.querySelectorAll("#palette-found a")];
  const at = found.indexOf(document.activeElement);
  if (event.key === "Escape") finder.close(); // at once: a search field would empty itself first
  else if (event.key === "ArrowDown" && found.length) found[Math.min(at + 1, found.length - 1)].focus();
  else if (event.key === "ArrowUp" && at >= 0) (at ? found[at - 1] : field).focus();
  else return;
  event.preventDefault();
});
