// Runs inside a page and returns what is on its screen, in the fields of `Page` and `Element` (see page.py).
// Takes {path, find, of, alone}: `path` makes ids in this frame differ from those of others, `find` returns the element
// with that id instead of the snapshot, `of` returns the id of that element, `alone` leaves out the frames in this one.
// `html.py` says the same of plain HTML: what decides roles, names and ids is kept alike there, and the tables of both
// are one file, roles.json.
(options) => {
  "use strict";
  const FACTS = __FACTS__;
  const asked = options || {};
  const sets = {};
  for (const name of ["known", "interactive", "containers", "landmarks", "messages", "measures", "leaves", "by_content", "dropped", "blocks", "labelled", "popups"]) {
    sets[name] = new Set(FACTS[name]);
  }
  const generated = new RegExp(FACTS.generated_id, "i");
  const secret = new RegExp(FACTS.secret, "i");
  const most = FACTS.most;

  const flat = (text) => (text || "").replace(/\s+/g, " ").trim();
  const short = (text, length) => (text.length > length ? text.slice(0, length) : text);
  // A form's fields hide its properties of the same name (`<input name=childNodes>`), so these are asked of the prototype.
  const asking = (kind, name) => {
    const getter = Object.getOwnPropertyDescriptor(kind.prototype, name).get;
    return (node) => getter.call(node);
  };
  const [kindOf, kidsOf, parentOf] = ["nodeType", "childNodes", "parentElement"].map((name) => asking(Node, name));
  const [tagOf, shadowOf] = ["localName", "shadowRoot"].map((name) => asking(Element, name));
  const attribute = (node, name) => Element.prototype.getAttribute.call(node, name);
  /** Asked once for each node: nothing changes while we look. */
  const remembered = (ask) => {
    const known = new Map();
    return (node) => {
      if (!known.has(node)) known.set(node, ask(node));
      return known.get(node);
    };
  };
  const styleOf = remembered((node) => node.ownerDocument.defaultView.getComputedStyle(node));

  // ---- ids: FNV-1a, mixed, in an alphabet without vowels so that no words come out
  function hashed(text) {
    let hash = 0x811c9dc5;
    for (const byte of new TextEncoder().encode(text)) hash = Math.imul(hash ^ byte, 0x01000193);
    hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
    hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
    hash = (hash ^ (hash >>> 16)) >>> 0;
    let said = "";
    for (let place = 0; place < 5; place++) {
      said += FACTS.alphabet[hash % FACTS.alphabet.length];
      hash = Math.floor(hash / FACTS.alphabet.length);
    }
    return said;
  }

  const counted = new Map();
  function unique(node, name, value) {
    const root = node.getRootNode();
    if (!counted.has(root)) counted.set(root, new Map());
    const counts = counted.get(root);
    if (!counts.has(name)) {
      const found = new Map();
      for (const one of root.querySelectorAll(`[${name}]`)) {
        const held = one.getAttribute(name);
        found.set(held, (found.get(held) || 0) + 1);
      }
      counts.set(name, found);
    }
    return counts.get(name).get(value) === 1;
  }

  /** What the page itself calls it, where that can be trusted to stay and to be its alone. */
  function ownKey(node) {
    for (const name of FACTS.test_ids) {
      const value = attribute(node, name);
      if (value && unique(node, name, value)) return `t:${value}`;
    }
    const id = attribute(node, "id");
    return id && !generated.test(id) && unique(node, "id", id) ? `i:${id}` : "";
  }

  // ---- what is shown
  const gone = remembered((node) => {
    if (sets.dropped.has(tagOf(node)) || attribute(node, "aria-hidden") === "true") return true;
    const style = styleOf(node);
    if (style.display === "none") return true;
    if (style.display !== "contents" && !node.checkVisibility()) return true;
    return style.opacity === "0" && !(tagOf(node) === "input" && ["checkbox", "radio", "file"].includes(node.type));
  });
  const shown = (node) => styleOf(node).visibility === "visible";
  const sized = (node) => [...node.getClientRects()].some((one) => one.width > 0 && one.height > 0);

  /** Whether somebody could point at it: it has a size, and no scrolling is needed that is not possible. */
  function reachable(node) {
    if (styleOf(node).display === "contents") return true;
    if (tagOf(node) === "input" && ["checkbox", "radio", "file"].includes(node.type) && node.labels?.length) return true;
    if (!sized(node) && ![...node.querySelectorAll("*")].slice(0, 50).some(sized)) return false;
    const box = node.getBoundingClientRect();
    const view = node.ownerDocument.defaultView;
    if (box.right + view.scrollX > 0 && box.bottom + view.scrollY > 0) return true;
    for (let over = parentOf(node); over; over = parentOf(over)) {
      if (over.scrollTop > 0 || over.scrollLeft > 0) return true;
    }
    return !sized(node);
  }

  const legible = (node) => {
    const style = styleOf(node);
    return shown(node) && parseFloat(style.fontSize) >= 1 && !/^rgba\(.*, 0\)$/.test(style.color);
  };
  /** Drawn a pixel wide or beyond the page's edge: for screen readers, or to be read by nobody but us. */
  function veiled(node) {
    if (!["absolute", "fixed"].includes(styleOf(node).position)) return false;
    const box = node.getBoundingClientRect();
    if (styleOf(node).overflow !== "visible" && (box.width <= 1 || box.height <= 1)) return true;
    return sized(node) && !reachable(node);
  }

  function childrenOf(node) {
    if (shadowOf(node)) return [...kidsOf(shadowOf(node))];
    if (tagOf(node) === "slot") {
      const given = node.assignedNodes();
      return given.length ? given : [...kidsOf(node)];
    }
    return [...kidsOf(node)];
  }

  // ---- roles
  const roleOf = remembered((node) => {
    const focusable = attribute(node, "tabindex") !== null;
    for (const said of flat(attribute(node, "role")).toLowerCase().split(" ")) {
      if ((said === "none" || said === "presentation") && !focusable) return "none";
      if (sets.known.has(said) && said !== "none" && said !== "presentation") return said;
    }
    const tag = tagOf(node);
    if ((tag === "a" || tag === "area") && attribute(node, "href") !== null) return "link";
    if (tag === "input") {
      const type = typeOf(node);
      if (type === "hidden") return "none";
      return FACTS.inputs[type] || (attribute(node, "list") !== null ? "combobox" : "textbox");
    }
    if (tag === "select") {
      return attribute(node, "multiple") !== null || Number(attribute(node, "size") || 0) > 1 ? "listbox" : "combobox";
    }
    const editable = attribute(node, "contenteditable");
    if (editable !== null && editable !== "false") return "textbox";
    if (tag === "td" && node.closest("[role=grid],[role=treegrid]")) return "gridcell";
    return FACTS.tags[tag] || "";
  });
  function typeOf(node) {
    const tag = tagOf(node);
    const said = flat(attribute(node, "type")).toLowerCase();
    if (tag === "input") return said || "text";
    if (tag !== "button") return "";
    return ["button", "reset", "submit"].includes(said) ? said : node.form ? "submit" : "button";
  }
  function activatable(node) {
    const index = attribute(node, "tabindex");
    return (index !== null && Number(index) >= 0) || attribute(node, "onclick") !== null;
  }
  /** Something in it can be used by itself. */
  function holdsControls(node) {
    for (const one of node.querySelectorAll("*")) {
      const role = roleOf(one);
      if ((sets.interactive.has(role) && role !== "gridcell") || (role !== "none" && activatable(one))) return true;
    }
    return false;
  }

  // ---- names
  function textOf(node, whole, skipped) {
    const said = [];
    const within = (one, depth) => {
      if (kindOf(one) === 3) return void said.push(one.data);
      if (kindOf(one) !== 1 || depth > most.depth || one === skipped) return;
      const tag = tagOf(one);
      if (tag === "svg") return void said.push(" ", one.querySelector("title")?.textContent || attribute(one, "aria-label") || "", " ");
      if (one !== node) {
        if (sets.dropped.has(tag) || (!whole && (gone(one) || !shown(one)))) return;
        if (attribute(one, "role") === "group") return;
        const label = flat(attribute(one, "aria-label"));
        if (label) return void said.push(" ", label, " ");
        if (tag === "img") return void said.push(" ", attribute(one, "alt") || "", " ");
        if (sets.labelled.has(tag) || tag === "iframe") return;
      }
      const block = sets.blocks.has(tag);
      if (block) said.push(" ");
      for (const child of childrenOf(one)) within(child, depth + 1);
      if (block) said.push(" ");
    };
    within(node, 0);
    return flat(said.join(""));
  }
  function referenced(node, name) {
    const root = node.getRootNode();
    return flat(attribute(node, name)).split(" ").filter(Boolean).map((id) => root.getElementById?.(id)).filter(Boolean);
  }
  function said(nodes) {
    return flat(nodes.map((one) => flat(attribute(one, "aria-label")) || textOf(one, true)).join(" "));
  }
  function nameOf(node, role) {
    const tag = tagOf(node);
    const by = said(referenced(node, "aria-labelledby"));
    if (by) return by;
    const label = flat(attribute(node, "aria-label"));
    if (label) return label;
    if (tag === "input" && ["button", "submit", "reset"].includes(typeOf(node))) {
      const value = attribute(node, "value");
      if (value !== null && flat(value)) return flat(value);
      if (typeOf(node) !== "button") return typeOf(node) === "submit" ? "Submit" : "Reset";
    }
    if (tag === "img" || (tag === "input" && typeOf(node) === "image") || tag === "area") {
      const alt = flat(attribute(node, "alt"));
      if (alt) return alt;
    }
    if (sets.labelled.has(tag) && node.labels?.length) {
      const labels = flat([...node.labels].map((one) => textOf(one, false, node)).join(" "));
      if (labels) return labels;
    }
    if (tag === "fieldset") {
      const legend = [...node.children].find((one) => tagOf(one) === "legend");
      if (legend) return textOf(legend);
    }
    if (sets.by_content.has(role) || tag === "summary") {
      const content = textOf(node);
      if (content) return content;
    }
    const title = flat(attribute(node, "title"));
    if (title) return title;
    const hint = flat(attribute(node, "placeholder")) || flat(attribute(node, "aria-placeholder"));
    if (hint) return hint;
    if (role === "dialog" || role === "alertdialog") {
      const heading = [...node.querySelectorAll("h1,h2,h3,h4,h5,h6")].find((one) => !gone(one));
      if (heading) return textOf(heading);
    }
    return "";
  }
  function descriptionOf(node, name) {
    const by = said(referenced(node, "aria-describedby").filter((one) => !gone(one)));
    const text = by || flat(attribute(node, "aria-description"));
    if (text) return text;
    if (node.validationMessage && node.matches(":user-invalid")) return node.validationMessage;
    const title = flat(attribute(node, "title"));
    if (title && title !== name) return title;
    const hint = flat(attribute(node, "placeholder"));
    return hint !== name ? hint : "";
  }

  // ---- states
  const truth = (text) => (text === "true" ? true : text === "false" ? false : null);
  function isSecret(node) {
    if (tagOf(node) !== "input") return false;
    if (typeOf(node) === "password" || styleOf(node).webkitTextSecurity !== "none") return true;
    return ["name", "id", "autocomplete"].some((one) => secret.test(attribute(node, one) || ""));
  }
  function valueOf(node, role, name) {
    const tag = tagOf(node);
    if (tag === "input") {
      const type = typeOf(node);
      if (["checkbox", "radio", "button", "submit", "reset", "image", "hidden"].includes(type)) return "";
      if (type === "file") return [...(node.files || [])].map((one) => one.name).join(", ");
      return node.value && isSecret(node) ? "•••" : node.value;
    }
    if (tag === "textarea") return node.value;
    if (tag === "select") return [...node.selectedOptions].map((one) => flat(one.label)).join(", ");
    if (role === "combobox" || role === "textbox" || role === "searchbox") return textOf(node);
    if (sets.messages.has(role)) return textOf(node) === name ? "" : textOf(node);
    if (tag === "progress" || tag === "meter") return attribute(node, "value") || "";
    if (["slider", "spinbutton", "progressbar", "meter", "scrollbar"].includes(role)) {
      return attribute(node, "aria-valuetext") || attribute(node, "aria-valuenow") || "";
    }
    return "";
  }
  function popupOf(node, role) {
    const raw = (attribute(node, "aria-haspopup") ?? attribute(node, "data-has-popup") ?? "").trim().toLowerCase();
    if (sets.popups.has(raw)) return raw;
    return role === "combobox" && !["select", "input"].includes(tagOf(node)) ? "listbox" : "";
  }
  const off = remembered((node) => {
    if (attribute(node, "aria-disabled") === "true" || attribute(node, "inert") !== null) return true;
    const over = parentOf(node);
    return over !== null && off(over);
  });
  function statesOf(node, role) {
    const tag = tagOf(node);
    const native = tag === "input" && ["checkbox", "radio"].includes(typeOf(node));
    const current = attribute(node, "aria-current");
    const selected = truth(attribute(node, "aria-selected"));
    return {
      haspopup: popupOf(node, role),
      expanded: tag === "summary" ? Boolean(parentOf(node)?.open) : truth(attribute(node, "aria-expanded")),
      checked: native ? node.checked : truth(attribute(node, "aria-checked")),
      selected: selected === null && current && current !== "false" ? true : selected,
      pressed: truth(attribute(node, "aria-pressed")),
      disabled: node.matches(":disabled") || off(node),
      required: Boolean(node.required) || attribute(node, "aria-required") === "true",
      invalid: !["", "false", null].includes(attribute(node, "aria-invalid")) || (sets.labelled.has(tag) && node.matches(":user-invalid")),
    };
  }
  function optionsOf(node) {
    const list = tagOf(node) === "select" ? node.options : node.list ? node.list.options : [];
    return [...list].slice(0, most.options).filter((one) => !one.hidden).map((one) => short(flat(one.label || one.text), most.name)).filter(Boolean);
  }

  // ---- the walk
  const elements = [];
  const nodes = new Map();
  const ids = new Map();
  const equals = new Map();
  const text = [];
  let length = 0;
  let left = most.nodes;
  let dropped = 0;
  let busy = false;
  const waiting = [];

  function numbered(key) {
    const before = equals.get(key) || 0;
    equals.set(key, before + 1);
    return before ? `${key}~${before}` : key;
  }
  function pathOf(address) {
    if (!address || address.startsWith("#")) return address;
    try {
      return new URL(address, document.baseURI).pathname;
    } catch {
      return "";
    }
  }
  /** What tells it from everything else on the page, and stays when the page around it changes. */
  function keyOf(node, role, name, place) {
    const own = ownKey(node);
    if (own) return `${place.root}/${own}`;
    const field = sets.labelled.has(tagOf(node)) ? attribute(node, "name") : "";
    if (field) {
      const value = ["radio", "checkbox"].includes(typeOf(node)) ? `=${attribute(node, "value") || ""}` : "";
      return numbered(`${place.form || place.root}/n:${field}${value}`);
    }
    let told = flat(name.replace(/\(\d+\)/g, "")).slice(0, 80);
    if (sets.messages.has(role) || role === "tabpanel") told = "";
    if (role === "row") told = flat([...node.children].map((one) => textOf(one)).find(Boolean)).slice(0, 80);
    if (role === "link") told += `>${pathOf(attribute(node, "href") || "")}`;
    if (tagOf(node) === "form") told += `>${pathOf(attribute(node, "action") || "")}`;
    if (role === "iframe") told += `>${attribute(node, "name") || pathOf(attribute(node, "src") || "")}`;
    return numbered(`${place.anchor}/${role}:${told}`);
  }
  function idOf(key) {
    let id = hashed(key);
    for (let again = 2; nodes.has(id); again++) id = hashed(`${key}#${again}`);
    return id;
  }
  function isListed(node, role, name) {
    if (role === "none" || role === "list" || role === "listitem" || sets.landmarks.has(role)) {
      return role !== "none" && activatable(node) && Boolean(attribute(node, "aria-label") || attribute(node, "aria-labelledby"));
    }
    if (role === "gridcell") {
      return (attribute(node, "tabindex") !== null || attribute(node, "aria-selected") !== null || activatable(node)) && !holdsControls(node);
    }
    if (role === "row") return attribute(node, "aria-selected") !== null || activatable(node) || holdsControls(node);
    if (role === "heading") return name !== "" && !holdsControls(node);
    if (role === "group") return name !== "";
    if (sets.messages.has(role)) return name !== "";
    if (sets.interactive.has(role) || sets.containers.has(role) || sets.measures.has(role)) return true;
    if (role !== "" && role !== "generic") return false;
    return activatable(node) || pointed(node) ? name !== "" : false;
  }
  /** The hand appears over it, and over nothing around it: somebody made it clickable without saying so. */
  function pointed(node) {
    const over = parentOf(node);
    return styleOf(node).cursor === "pointer" && over !== null && styleOf(over).cursor !== "pointer" &&
      tagOf(node) !== "label" && !node.closest("a[href],button,label,[role]:not([role=group])") && !holdsControls(node);
  }
  function genericName(node) {
    const label = said(referenced(node, "aria-labelledby")) || flat(attribute(node, "aria-label"));
    return label || (holdsControls(node) ? "" : textOf(node));
  }

  function write(words, block) {
    if (block) text.push("\n");
    if (!words.trim() || length > most.text) return;
    text.push(words.replace(/\s+/g, " "));
    length += words.length;
  }
  const told = new Set();
  function remember(root) {
    for (const one of root.querySelectorAll("[aria-labelledby],[aria-describedby]")) {
      for (const name of ["aria-labelledby", "aria-describedby"]) {
        for (const other of referenced(one, name)) told.add(other);
      }
    }
  }

  function listed(node, role, name, place) {
    const key = keyOf(node, role, name, place);
    const id = idOf(key);
    nodes.set(id, node);
    ids.set(node, id);
    if (elements.length >= most.elements) {
      dropped++;
      return { id, key };
    }
    const found = {
      id, role, name: short(name, most.name), value: short(flat(valueOf(node, role, name)), most.name), ...statesOf(node, role),
      description: short(descriptionOf(node, name), most.name), type: typeOf(node), options: optionsOf(node),
      inside: place.inside,
    };
    if (role === "link" || role === "menuitem" || role === "tab") found.href = attribute(node, "href") === null ? "" : String(node.href);
    if (tagOf(node) === "form") found.method = (attribute(node, "method") || "get").toLowerCase();
    elements.push(found);
    waiting.push([found, node]);
    return { id, key };
  }

  function walk(node, place, depth) {
    if (left-- <= 0 || depth > most.depth) return;
    if (kindOf(node) === 3) {
      if (!place.silent && legible(parentOf(node) || node.getRootNode().host)) write(node.data);
      return;
    }
    if (kindOf(node) !== 1 || gone(node)) return;
    if (attribute(node, "aria-busy") === "true") busy = true;
    const tag = tagOf(node);
    const role = roleOf(node);
    const generic = role === "" || role === "generic";
    const wanted = role !== "none" && shown(node);
    const name = !wanted ? "" : generic ? (activatable(node) || pointed(node) ? genericName(node) : "") : nameOf(node, role);
    let inner = place;
    const block = sets.blocks.has(tag);
    if (block && !place.silent) write("", true);
    if (wanted && isListed(node, role, name) && (sets.containers.has(role) || reachable(node))) {
      const { id, key } = listed(node, generic ? "generic" : role, name, place);
      const holds = sets.containers.has(role);
      inner = {
        ...place,
        anchor: holds || role === "treeitem" ? key : place.anchor,
        inside: holds ? id : place.inside,
        form: tag === "form" ? key : place.form,
        silent: place.silent || sets.leaves.has(role) || sets.messages.has(role) || role === "row" || role === "gridcell" || role === "treeitem" || (generic && name !== ""),
      };
      if (tag === "iframe") return frame(node, id, inner);
    } else {
      const own = ownKey(node);
      const label = sets.landmarks.has(role) || role === "tablist" ? said(referenced(node, "aria-labelledby")) || flat(attribute(node, "aria-label")) : "";
      if (own) inner = { ...place, anchor: `${place.root}/${own}` };
      else if (label) inner = { ...place, anchor: `${place.anchor}/${role}:${label}` };
      if (tag === "img" && !place.silent) write(` ${attribute(node, "alt") || ""} `);
    }
    if (told.has(node) || (tag === "label" && node.control) || tag === "legend" || veiled(node)) inner = { ...inner, silent: true };
    if (tag === "select" || tag === "textarea" || tag === "svg") return;
    if (shadowOf(node)) {
      remember(shadowOf(node));
      const host = ownKey(node) ? `${place.root}/${ownKey(node)}` : numbered(`${place.anchor}/shadow:${tag}`);
      inner = { ...inner, root: `${host}/`, anchor: `${host}/`, form: "" };
    }
    for (const child of childrenOf(node)) walk(child, inner, depth + 1);
    if (block && !place.silent) write("", true);
  }
  function frame(node, id, place) {
    if (asked.alone) return;
    let inside = null;
    try {
      inside = node.contentDocument;
    } catch {
      return;
    }
    if (!inside || !inside.body) return;
    remember(inside);
    const root = `frame:${id}`;
    for (const child of kidsOf(inside.body)) walk(child, { ...place, root, anchor: root, form: "", inside: id }, 0);
  }

  remember(document);
  const top = asked.path ? `frame:${asked.path}` : "";
  const start = { root: top, anchor: top, form: "", inside: asked.path || "", silent: false };
  if (document.body) walk(document.body, start, 0);
  if (asked.find !== undefined) return nodes.get(asked.find) || null;
  if (asked.of !== undefined) return ids.get(asked.of) || "";

  for (const [found, node] of waiting) {
    const form = tagOf(node) === "form" ? null : node.form || node.closest("form");
    if (form) found.form = ids.get(form) || "";
    const target = referenced(node, "aria-controls").concat(referenced(node, "aria-owns"))[0];
    if (target) {
      const inner = ids.has(target) ? target : [...target.querySelectorAll("*")].find((one) => ids.has(one) && sets.containers.has(roleOf(one)));
      found.controls = inner ? ids.get(inner) : "";
    }
  }
  let focus = document.activeElement;
  for (let inner = focus; inner; inner = inner.shadowRoot?.activeElement || (tagOf(inner) === "iframe" ? inner.contentDocument?.activeElement : null)) focus = inner;
  const arrived = performance.getEntriesByType("navigation")[0];
  return {
    url: location.href,
    title: short(flat(document.title), most.name),
    elements,
    text: text.join("").split("\n").map(flat).filter(Boolean).join("\n").slice(0, most.text),
    dropped,
    focused: ids.get(focus) || "",
    scroll: [Math.round(scrollX), Math.round(scrollY)],
    busy,
    status: arrived?.responseStatus || 0,
  };
}
