// Two buttons under a finished reply, and a line for what was wrong. The last word counts.
//
// Nothing is lost here either: a thumb is in `kept`, which the frame puts into the tab's storage, until the server has it.
// What could not be sent says so beside the button, and goes out when asked to, with the connection, or after a reload.
const HAND = "M7 11v9H4v-9zM7 11l3.6-7.6A2 2 0 0 1 13.4 5.4L12.8 9H18.6a2 2 0 0 1 2 2.3l-1.1 7A2 2 0 0 1 17.5 20H7";

// The place under a reply that is still being written, so that nothing moves when it is whole.
export function reserve(box) {
  const row = document.createElement("div");
  row.className = "thumbs";
  box.after(row);
  return row;
}
function under(box) {
  const next = box.nextElementSibling;
  return next?.classList.contains("thumbs") ? next : reserve(box);
}
export function drop(box) {
  if (box?.nextElementSibling?.classList.contains("thumbs")) box.nextElementSibling.remove();
  box?.remove();
}

export function thumbs({ words, longest, kept, save, call }) {
  // `known` is what the server has.
  return function rate(box, conversation, turn, known) {
    const row = under(box);
    const waiting = kept[turn]?.conversation === conversation ? kept[turn] : null;
    let said = waiting || { conversation, thumb: known.thumb || null, correction: known.correction || null };
    row.setAttribute("role", "group");
    row.setAttribute("aria-label", words.judge);
    row.setAttribute("aria-live", "off"); // the log reads out replies, not what is under them
    const buttons = { up: hand("up"), down: hand("down") };
    const told = document.createElement("span");
    told.className = "told";
    told.setAttribute("role", "status");
    const form = document.createElement("form");
    form.className = "wrong";
    const input = document.createElement("input");
    Object.assign(input, { maxLength: longest, placeholder: words.wrong, dir: "auto", enterKeyHint: "send", value: said.correction || "" });
    input.setAttribute("aria-label", words.wrong);
    const send = document.createElement("button");
    send.textContent = words.send;
    form.append(input, send);
    row.append(buttons.up, buttons.down, told, form);
    open(false);
    draw();

    function hand(thumb) {
      const button = document.createElement("button");
      button.type = "button";
      button.className = thumb;
      button.title = words["thumb-" + thumb];
      button.setAttribute("aria-label", words["thumb-" + thumb]);
      const picture = document.createElementNS("http://www.w3.org/2000/svg", "svg");
      picture.setAttribute("viewBox", "0 0 24 24");
      picture.setAttribute("aria-hidden", "true");
      const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
      path.setAttribute("d", HAND);
      picture.append(path);
      button.append(picture);
      button.addEventListener("click", () => press(thumb));
      return button;
    }
    function draw() {
      for (const [thumb, button] of Object.entries(buttons)) button.setAttribute("aria-pressed", String(said.thumb === thumb));
    }
    function open(yes) {
      form.hidden = !yes;
      buttons.down.setAttribute("aria-expanded", String(yes));
      if (yes) form.scrollIntoView({ block: "nearest" });
    }
    function press(thumb) {
      if (said.thumb === thumb) {
        if (thumb === "down") open(form.hidden);
        return;
      }
      open(thumb === "down");
      put({ conversation, thumb, correction: null });
    }
    function put(now) {
      said = now;
      draw();
      kept[turn] = now;
      save();
      deliver();
    }

    let busy = false;
    async function deliver() {
      if (busy) return;
      busy = true;
      told.replaceChildren();
      told.classList.remove("bad");
      try {
        while (kept[turn]) {
          const { thumb, correction } = kept[turn];
          const sent = kept[turn];
          await call(`/${conversation}/turns/${turn}/feedback`, { method: "POST", body: JSON.stringify({ thumb, correction }) });
          if (kept[turn] === sent) delete kept[turn];
          save();
        }
        if (said.correction) told.textContent = words.thanks;
      } catch (problem) {
        if (problem.final || problem.code === "gone") { delete kept[turn]; save(); }
        failed();
      } finally {
        busy = false;
      }
    }
    function failed() {
      const again = document.createElement("button");
      again.type = "button";
      again.textContent = words.again;
      again.addEventListener("click", () => { buttons[said.thumb].focus(); put(said); });
      told.classList.add("bad");
      told.replaceChildren(words["not-saved"], again);
    }

    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const correction = input.value.trim() || null;
      open(false);
      buttons.down.focus();
      if (correction !== said.correction) put({ conversation, thumb: "down", correction });
    });
    addEventListener("online", () => { if (kept[turn]) deliver(); });
    if (waiting) deliver();
  };
}
