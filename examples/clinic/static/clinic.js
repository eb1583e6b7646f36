// What moves on the clinic's pages. Every widget follows its ARIA pattern as far as a mouse and Escape need it.
"use strict";

const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const byId = (id) => document.getElementById(id);

function toggle(button, panel, open) {
  panel.hidden = !open;
  if (button.hasAttribute("aria-expanded")) button.setAttribute("aria-expanded", String(open));
}

// Menus. The second kind says nothing but `data-has-popup`, as older sites do.
for (const button of all(".menu > button")) {
  const items = button.nextElementSibling;
  button.addEventListener("click", (event) => {
    event.stopPropagation();
    toggle(button, items, items.hidden);
  });
  document.addEventListener("click", () => toggle(button, items, false));
  document.addEventListener("keydown", (event) => event.key === "Escape" && toggle(button, items, false));
}

// A combobox that only selects.
for (const box of all("[role=combobox]")) {
  const list = byId(box.getAttribute("aria-controls"));
  const held = box.nextElementSibling;
  const open = (yes) => toggle(box, list, yes);
  box.addEventListener("click", () => open(list.hidden));
  box.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === " " || event.key === "ArrowDown") open(true);
    if (event.key === "Escape") open(false);
  });
  for (const option of all("[role=option]", list)) {
    option.addEventListener("click", () => {
      for (const other of all("[role=option]", list)) other.setAttribute("aria-selected", String(other === option));
      box.textContent = held.value = option.textContent;
      open(false);
    });
  }
}

// A calendar in a grid.
const calendar = byId("calendar");
if (calendar) {
  const button = byId("choose-date");
  const field = byId("date_of_birth");
  let shown = new Date(Date.UTC(1990, 4, 1));
  const draw = () => {
    calendar.querySelector("strong").textContent =
      shown.toLocaleDateString("en-GB", { month: "long", year: "numeric", timeZone: "UTC" });
    const body = calendar.querySelector("tbody");
    body.replaceChildren();
    const last = new Date(Date.UTC(shown.getUTCFullYear(), shown.getUTCMonth() + 1, 0)).getUTCDate();
    for (let day = 1; day <= last; day++) {
      if (day % 7 === 1) body.append(document.createElement("tr"));
      const date = new Date(Date.UTC(shown.getUTCFullYear(), shown.getUTCMonth(), day));
      const cell = document.createElement("td");
      cell.setAttribute("role", "gridcell");
      cell.setAttribute("tabindex", "-1");
      cell.setAttribute("aria-label",
        date.toLocaleDateString("en-GB", { day: "numeric", month: "long", year: "numeric", timeZone: "UTC" }));
      cell.textContent = day;
      cell.addEventListener("click", () => {
        field.value = date.toISOString().slice(0, 10);
        field.dispatchEvent(new Event("input", { bubbles: true }));
        toggle(button, calendar, false);
      });
      body.lastElementChild.append(cell);
    }
  };
  button.addEventListener("click", () => {
    const typed = new Date(field.value);
    if (!isNaN(typed)) shown = new Date(Date.UTC(typed.getUTCFullYear(), typed.getUTCMonth(), 1));
    draw();
    toggle(button, calendar, calendar.hidden);
  });
  for (const turn of all("[data-months]", calendar)) {
    turn.addEventListener("click", () => {
      shown = new Date(Date.UTC(shown.getUTCFullYear(), shown.getUTCMonth() + Number(turn.dataset.months), 1));
      draw();
    });
  }
  document.addEventListener("keydown", (event) => event.key === "Escape" && toggle(button, calendar, false));
}

// What a new patient's form says before it is sent: only that something is missing. The rest the server checks.
const admission = byId("new-patient");
admission?.addEventListener("submit", (event) => {
  let first = null;
  for (const field of all("input[required]", admission)) {
    const missing = !field.value.trim();
    const error = byId(`${field.id}-error`);
    error.hidden = !missing;
    error.textContent = missing ? `${admission.querySelector(`label[for=${field.id}]`).textContent} is required.` : "";
    if (missing) {
      field.setAttribute("aria-invalid", "true");
      field.setAttribute("aria-describedby", error.id);
      first ??= field;
    } else {
      field.removeAttribute("aria-invalid");
      field.removeAttribute("aria-describedby");
    }
  }
  if (first) {
    event.preventDefault();
    first.focus();
  }
});

// Tabs and accordions.
for (const tab of all("[role=tab]")) {
  tab.addEventListener("click", () => {
    for (const other of all("[role=tab]", tab.parentElement)) {
      other.setAttribute("aria-selected", String(other === tab));
      byId(other.getAttribute("aria-controls")).hidden = other !== tab;
    }
  });
}
for (const button of all(".accordion")) {
  const panel = byId(button.getAttribute("aria-controls"));
  button.addEventListener("click", () => toggle(button, panel, panel.hidden));
}

// Dialogs.
for (const button of all("[aria-haspopup=dialog]")) {
  const dialog = byId(button.getAttribute("aria-controls"));
  button.addEventListener("click", () => dialog.showModal());
  for (const close of all("[data-close]", dialog)) close.addEventListener("click", () => dialog.close());
}

// One page, many addresses.
function show(view) {
  for (const link of all("[data-view]")) {
    const chosen = link.dataset.view === view;
    chosen ? link.setAttribute("aria-current", "page") : link.removeAttribute("aria-current");
    byId(`view-${link.dataset.view}`).hidden = !chosen;
  }
}
for (const link of all("[data-view]")) {
  link.addEventListener("click", (event) => {
    event.preventDefault();
    history.pushState({}, "", link.href);
    show(link.dataset.view);
  });
}
if (document.querySelector("[data-view]")) {
  addEventListener("popstate", () => show(location.pathname.split("/")[2] ?? "overview"));
}

// What arrives late.
const slow = byId("slow");
if (slow) {
  fetch(slow.dataset.from)
    .then((answer) => answer.json())
    .then((lines) => {
      slow.replaceChildren(...lines.map((line) => Object.assign(document.createElement("li"), { textContent: line })));
      slow.setAttribute("aria-busy", "false");
    });
}

// Settings are saved without leaving the page, and a toast says so.
function toast(text) {
  byId("toasts").textContent = text;
  setTimeout(() => { byId("toasts").textContent = ""; }, 6000);
}
byId("settings")?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const answer = await fetch("/settings", { method: "POST", body: new FormData(event.target) });
  toast(answer.ok ? "Settings saved." : (await answer.json()).error);
});
for (const one of all("[role=switch]")) {
  one.addEventListener("click", () => one.setAttribute("aria-checked", String(one.getAttribute("aria-checked") !== "true")));
}
for (const one of all("[aria-pressed]")) {
  one.addEventListener("click", () => one.setAttribute("aria-pressed", String(one.getAttribute("aria-pressed") !== "true")));
}

// A tree.
for (const item of all("[role=treeitem]")) {
  item.addEventListener("click", (event) => {
    event.stopPropagation();
    const group = item.querySelector("[role=group]");
    if (group) {
      toggle(item, group, group.hidden);
    } else {
      for (const other of all("[role=treeitem][aria-selected]")) other.setAttribute("aria-selected", String(other === item));
    }
  });
}

// A list that grows when it is scrolled to its end.
const entries = byId("entries");
if (entries) {
  let asked = false;
  const more = async () => {
    if (asked) return;
    asked = true;
    const lines = await (await fetch(`${entries.dataset.from}?after=${entries.children.length}`)).json();
    entries.append(...lines.map((line) => Object.assign(document.createElement("li"), { textContent: line })));
    asked = lines.length === 0;
  };
  entries.addEventListener("scroll", () => {
    if (entries.scrollTop + entries.clientHeight > entries.scrollHeight - 40) more();
  });
  more();
}

// Components that keep their insides to themselves.
customElements.define("clinic-counter", class extends HTMLElement {
  connectedCallback() {
    const root = this.attachShadow({ mode: "open" });
    const down = Object.assign(document.createElement("button"), { textContent: "Fewer", type: "button" });
    const up = Object.assign(document.createElement("button"), { textContent: "More", type: "button" });
    const shown = Object.assign(document.createElement("output"), { textContent: "0" });
    shown.setAttribute("aria-label", this.getAttribute("label"));
    const by = (step) => () => { shown.textContent = Number(shown.textContent) + step; };
    down.addEventListener("click", by(-1));
    up.addEventListener("click", by(1));
    root.append(down, shown, up);
  }
});
customElements.define("clinic-subscribe", class extends HTMLElement {
  connectedCallback() {
    const root = this.attachShadow({ mode: "open" });
    const form = document.createElement("form");
    form.setAttribute("aria-label", "Newsletter");
    const label = Object.assign(document.createElement("label"), { textContent: "Email" });
    label.append(Object.assign(document.createElement("input"), { type: "email", name: "email" }));
    const button = Object.assign(document.createElement("button"), { textContent: "Subscribe" });
    const said = document.createElement("p");
    said.setAttribute("role", "status");
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      said.textContent = `Subscribed ${form.email.value}.`;
    });
    form.append(label, button, said);
    root.append(form);
  }
});
