// Tables that are wholly on the page: sorted by the heading that is pressed, narrowed by words. What was chosen is in the address, so that a link or a reload shows the same. A module, so that its names are its own.
const collator = new Intl.Collator(document.documentElement.lang, { numeric: true, sensitivity: "base" });

function chosen() {
  const [table, column, way] = (new URLSearchParams(location.search).get("sort") ?? "").split(".");
  return { table, column: Number(column), down: way === "down" };
}

function keep(name, value) {
  const address = new URL(location.href);
  if (value) address.searchParams.set(name, value); else address.searchParams.delete(name);
  history.replaceState(history.state, "", address);
}

// Numbers by what they are, times by when they were, everything else as the reader's language has it.
function value(row, column) {
  const cell = row.cells[column];
  if (!cell) return "";
  const time = cell.querySelector("time[datetime]");
  if (time) return time.dateTime;
  const text = cell.textContent.trim();
  return cell.classList.contains("num") ? plain(text) : text;
}

const point = new Intl.NumberFormat(document.documentElement.lang).formatToParts(1.5).find((part) => part.type === "decimal").value;
function plain(text) {
  return text.replaceAll("−", "-").replace(new RegExp(`[^0-9\\-${point}]`, "g"), "").replace(point, ".");
}

function compare(one, other) {
  const numbers = [Number(one), Number(other)];
  if (one !== "" && other !== "" && !numbers.some(Number.isNaN)) return numbers[0] - numbers[1];
  return collator.compare(one, other);
}

function sort(table, column, down) {
  for (const body of table.tBodies) {
    const rows = [...body.rows].filter((row) => !row.id);
    const sorted = rows.toSorted((one, other) => (down ? -1 : 1) * compare(value(one, column), value(other, column)));
    if (sorted.some((row, at) => row !== rows[at])) body.prepend(...sorted);
  }
  [...table.tHead.rows[0].cells].forEach((head, at) => {
    if (at === column) head.setAttribute("aria-sort", down ? "descending" : "ascending"); else head.removeAttribute("aria-sort");
  });
}

function narrow(field) {
  const words = field.value.toLocaleLowerCase().split(/\s+/).filter(Boolean);
  const table = document.querySelector(`table[data-sorts="${CSS.escape(field.dataset.narrows)}"]`);
  for (const row of table ? [...table.tBodies].flatMap((body) => [...body.rows]) : []) {
    const text = row.textContent.toLocaleLowerCase();
    row.hidden = !words.every((word) => text.includes(word));
  }
}

function prepare() {
  const now = chosen();
  for (const table of document.querySelectorAll("table[data-sorts]")) {
    for (const head of table.tHead?.rows[0].cells ?? []) {
      if (!head.textContent.trim() || head.querySelector("button, .hint")) continue; // a hint: nothing to sort by
      const button = document.createElement("button");
      button.type = "button";
      button.className = "sorts";
      button.append(...head.childNodes);
      head.append(button);
    }
    if (table.dataset.sorts === now.table && now.column >= 0) sort(table, now.column, now.down);
  }
  for (const field of document.querySelectorAll("input[data-narrows]")) {
    field.hidden = false;
    if (document.activeElement !== field) field.value = new URLSearchParams(location.search).get("narrow") ?? "";
    narrow(field);
  }
}

document.addEventListener("click", (event) => {
  const head = event.target.closest("table[data-sorts] th button.sorts")?.parentElement;
  if (!head) return;
  const table = head.closest("table"), down = head.getAttribute("aria-sort") === "ascending";
  sort(table, head.cellIndex, down);
  keep("sort", `${table.dataset.sorts}.${head.cellIndex}.${down ? "down" : "up"}`);
});
document.addEventListener("input", (event) => {
  if (!event.target.matches("input[data-narrows]")) return;
  narrow(event.target);
  keep("narrow", event.target.value);
});
document.addEventListener("htmx:afterSettle", prepare);
prepare();
