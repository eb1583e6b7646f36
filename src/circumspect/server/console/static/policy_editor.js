// The policy editor: CodeMirror over the text field, which stays what the form sends. Without CodeMirror (no registry when this was built) the field is all there is, and everything works.
const field = document.getElementById("text");
const known = globalThis.codemirror;

if (field && known) open(field);

function open(field) {
  const { EditorView, keymap, lineNumbers, drawSelection, highlightActiveLine, gutter, GutterMarker, Decoration, ViewPlugin } = known["@codemirror/view"];
  const { EditorState, RangeSet, RangeSetBuilder, StateEffect, StateField } = known["@codemirror/state"];
  const { syntaxHighlighting, HighlightStyle, indentOnInput, bracketMatching } = known["@codemirror/language"];
  const { defaultKeymap, history, historyKeymap, indentWithTab } = known["@codemirror/commands"];
  const { autocompletion, completionKeymap, startCompletion } = known["@codemirror/autocomplete"];
  const { setDiagnostics, lintGutter, lintKeymap } = known["@codemirror/lint"];
  const { search, searchKeymap } = known["@codemirror/search"];
  const { yaml } = known["@codemirror/lang-yaml"];
  const { tags } = known["@lezer/highlight"];

  // --- how many calls each line held: small numbers beside the lines, from the list that the server rendered ---------
  class Held extends GutterMarker {
    constructor(count, words) { super(); this.count = count; this.words = words; }
    eq(other) { return other.count === this.count && other.words === this.words; }
    toDOM() {
      const mark = document.createElement("span");
      mark.className = "held";
      mark.textContent = this.count;
      mark.title = this.words;
      return mark;
    }
  }
  const setHeld = StateEffect.define();
  const held = StateField.define({
    create: () => RangeSet.empty,
    update(marks, change) {
      const found = change.effects.find((one) => one.is(setHeld));
      return found ? found.value : marks.map(change.changes);
    },
  });

  // --- long lines go on below, further in than they begin: in YAML what stands at the edge says where one is ----------
  const DEEPEST = 24; // characters; lines further in go on as those do
  const hangs = Array.from({ length: DEEPEST + 1 }, (_, indent) => Decoration.line({ class: `hangs-${indent}` }));
  const hanging = Object.fromEntries(hangs.map((_, indent) => [`.cm-line.hangs-${indent}`, { paddingInlineStart: `calc(6px + ${indent + 2}ch)`, textIndent: `-${indent + 2}ch` }]));
  const wrapping = ViewPlugin.fromClass(class {
    constructor(view) { this.decorations = hang(view); }
    update(change) { if (change.docChanged || change.viewportChanged) this.decorations = hang(change.view); }
  }, { decorations: (plugin) => plugin.decorations });
  function hang(view) {
    const made = new RangeSetBuilder();
    for (const { from, to } of view.visibleRanges) {
      for (let at = from; at <= to;) {
        const one = view.state.doc.lineAt(at), indent = one.text.length - one.text.trimStart().length;
        made.add(one.from, one.from, hangs[Math.min(indent, DEEPEST)]);
        at = one.to + 1;
      }
    }
    return made.finish();
  }

  const style = HighlightStyle.define([
    { tag: tags.definition(tags.propertyName), color: "var(--assessment)" },
    { tag: [tags.string, tags.special(tags.string), tags.attributeValue], color: "var(--good)" },
    { tag: [tags.comment, tags.lineComment], color: "var(--soft)", fontStyle: "italic" },
    { tag: [tags.number, tags.bool, tags.keyword, tags.typeName], color: "var(--critique)" },
    { tag: [tags.punctuation, tags.separator, tags.brace, tags.squareBracket], color: "var(--soft)" },
    { tag: tags.invalid, color: "var(--bad)" },
  ]);
  const look = EditorView.theme({
    "&": { backgroundColor: "var(--card)", color: "var(--text)", border: "1px solid var(--line)", borderRadius: "8px", fontSize: ".86rem" },
    "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "1px" },
    ".cm-scroller": { font: '.86rem/1.55 ui-monospace, "DejaVu Sans Mono", monospace', minHeight: "26rem", maxHeight: "44rem", overflow: "auto" },
    ".cm-content": { caretColor: "var(--text)" },
    ...hanging,
    ".cm-cursor": { borderLeftColor: "var(--text)" },
    ".cm-selectionBackground, &.cm-focused .cm-selectionBackground": { backgroundColor: "light-dark(#cfd9ff, #33406b) !important" },
    ".cm-activeLine": { backgroundColor: "color-mix(in srgb, var(--raised) 60%, transparent)" },
    ".cm-gutters": { backgroundColor: "var(--raised)", color: "var(--soft)", border: "0", borderRight: "1px solid var(--line)" },
    ".cm-held": { minWidth: "2.2em", textAlign: "end", paddingInline: ".3em" },
    ".held": { backgroundColor: "var(--warn-ground)", color: "var(--warn)", borderRadius: "6px", padding: "0 .35em", fontSize: ".92em" },
    ".cm-tooltip, .cm-panels": { backgroundColor: "var(--card)", color: "var(--text)", border: "1px solid var(--line)" },
    ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--on-accent)" },
    ".cm-completionInfo": { maxWidth: "24rem", padding: ".5rem" },
    ".cm-diagnostic-error": { borderLeftColor: "var(--bad)" },
    ".cm-diagnostic-warning": { borderLeftColor: "var(--warn)" },
    ".cm-panel input, .cm-panel button": { font: "inherit", color: "var(--text)", backgroundColor: "var(--ground)", backgroundImage: "none", border: "1px solid var(--line)", borderRadius: "6px" },
  });

  // A shadow root: there CodeMirror's own styles are adopted sheets, which the page's Content-Security-Policy allows.
  const host = document.createElement("div");
  host.id = "editor";
  host.dir = "ltr";
  host.dataset.writes = "";
  field.before(host);
  const root = host.attachShadow({ mode: "open" });

  let own = false;
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      doc: field.value,
      extensions: [
        lineNumbers(), held,
        gutter({ class: "cm-held", markers: (of) => of.state.field(held) }),
        lintGutter(), EditorView.lineWrapping, wrapping, history(), drawSelection(), highlightActiveLine(), indentOnInput(), bracketMatching(),
        search({ top: true }), yaml(), syntaxHighlighting(style), look,
        autocompletion({ override: [complete], activateOnTyping: true }),
        keymap.of([...completionKeymap, ...searchKeymap, ...lintKeymap, ...historyKeymap, ...defaultKeymap, indentWithTab]),
        EditorState.tabSize.of(2),
        EditorView.contentAttributes.of({ "aria-label": field.labels[0]?.textContent.trim() || "", spellcheck: "false", autocapitalize: "off" }),
        EditorState.phrases.of(JSON.parse(field.dataset.phrases || "{}")),
        EditorView.updateListener.of((update) => {
          if (!update.docChanged) return;
          own = true;
          field.value = view.state.doc.toString();
          field.dispatchEvent(new Event("input", { bubbles: true }));
          own = false;
        }),
      ],
    }),
  });
  view.scrollDOM.tabIndex = 0; // a region that scrolls can be scrolled by the keyboard
  // What the form sends. It is written to by scripts and read by the browser's own form, and out of the way of people.
  field.classList.add("behind");
  field.tabIndex = -1;
  field.setAttribute("aria-hidden", "true");
  const label = field.labels[0];
  label?.addEventListener("click", (event) => { event.preventDefault(); view.focus(); });
  field.addEventListener("input", () => {
    if (!own) view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: field.value } });
  });

  // --- what the server finds wrong, at its line ----------------------------------------------------------------------
  function line(number) { return view.state.doc.line(Math.min(Math.max(number, 1), view.state.doc.lines)); }
  function mark() {
    const found = [...document.querySelectorAll("#checked .findings li")].map((item) => {
      const at = line(Number(item.dataset.line || 1));
      const start = at.from + (at.text.length - at.text.trimStart().length);
      const severity = item.classList.contains("error") ? "error" : "warning";
      return { from: start, to: Math.max(at.to, start), severity, message: item.querySelector("[data-says]").textContent.trim() };
    });
    view.dispatch(setDiagnostics(view.state, found));
    const marks = [...document.querySelectorAll("#checked [data-held]")]
      .map((one) => new Held(one.dataset.held, one.title).range(line(Number(one.dataset.at)).from));
    view.dispatch({ effects: setHeld.of(RangeSet.of(marks, true)) });
  }
  document.body.addEventListener("htmx:afterSettle", (event) => { if (event.target.id === "checked") mark(); });
  mark();

  document.addEventListener("circumspect:line", (event) => {
    const at = line(event.detail);
    view.dispatch({ selection: { anchor: at.from, head: at.to }, effects: EditorView.scrollIntoView(at.from, { y: "center" }) });
    view.focus();
  });

  // --- completion: keys and values of the published schema, names of tools and of their parameters -------------------
  let words = null;
  const loading = fetch(field.dataset.words).then((answer) => (answer.ok ? answer.json() : null)).then((one) => { words = one; }).catch(() => null);

  async function complete(context) {
    await loading;
    if (!words || !context) return null;
    const at = context.state.doc.lineAt(context.pos), before = at.text.slice(0, context.pos - at.from);
    if (/^\s*#/.test(before)) return null;
    const word = context.matchBefore(/[\w*.-]*/);
    const place = find(context.state.doc, at.number, before);
    if (!place || (!context.explicit && word.from === word.to && !place.value)) return null;
    const part = follow(place.path);
    const options = place.value ? values(part) : keys(part, place);
    return options.length ? { from: word.from, options, validFor: /^[\w*.-]*$/ } : null;
  }

  // The keys above the cursor, by how far they are indented; a dash is a step of its own. `{…}` and `[…]` on one line go deeper.
  function find(doc, number, before) {
    const own = before.match(/^(\s*)((?:-\s+)*)/), path = own[2] ? ["-"] : [];
    let depth = own[0].length, dash = own[2] ? own[1].length : -1;
    for (let above = number - 1; above > 0 && (depth > 0 || dash >= 0); above--) {
      const found = doc.line(above).text.match(/^(\s*)((?:-\s+)*)(?:(["']?)([^\s#"':{[][^"':]*)\3\s*:(?:\s|$))?/);
      const [, indent, dashes, , key] = found, column = indent.length + dashes.length;
      if (dash < 0 && dashes && column === depth) {
        path.unshift("-");
        dash = indent.length;
      } else if (key && (dash < 0 ? column < depth : column <= dash)) {
        path.unshift(key.trim());
        depth = column;
        dash = dashes ? indent.length : -1;
        if (dashes) path.unshift("-");
      }
    }
    let value = false, last = null;
    for (const piece of before.slice(own[0].length).match(/"[^"]*"|'[^']*'|[{}[\],]|:(?=\s|$)|[^\s{}[\],:]+|\s+/g) || []) {
      if (piece === ":" && last !== null) { path.push(last); value = true; last = null; }
      else if (piece === "{") value = false;
      else if (piece === "[") { path.push("-"); value = true; }
      else if (piece === "," && path.at(-1) !== "-") { path.pop(); value = false; last = null; }
      else if (piece === "}" || piece === "]") { path.pop(); value = false; }
      else if (piece.trim()) last = piece.replace(/^["']|["']$/g, "");
    }
    return { path, value };
  }

  function follow(path) {
    let parts = [words.schema];
    const seen = [];
    for (const step of path) {
      parts = parts.flatMap(alternatives).flatMap((part) => {
        if (step === "-") return part.items ? [part.items] : [];
        return part.properties?.[step] ? [part.properties[step]] : typeof part.additionalProperties === "object" ? [part.additionalProperties] : [];
      });
      seen.push(step);
    }
    return parts.flatMap(alternatives);
  }
  function alternatives(part) {
    const described = part.description ? { description: part.description } : {};
    if (part.$ref) return alternatives({ ...words.schema.$defs[part.$ref.split("/").at(-1)], ...described });
    if (part.anyOf) return part.anyOf.flatMap((one) => alternatives({ ...one, ...described }));
    return [part];
  }
  function keys(parts, place) {
    const found = parts.flatMap((part) => Object.entries(part.properties || {}).map(([label, one]) => ({
      label, type: "property", info: one.description || "", apply: label + ": ",
    })));
    const last = place.path.at(-1);
    if (last === "tools" || last === "facts") found.push(...Object.keys(words.tools).map((label) => ({ label, type: "function", apply: label + ": " })));
    if (last === "params") found.push(...(words.tools[place.path.at(-2)] || []).map((label) => ({ label, type: "variable", apply: label + ": " })));
    return found;
  }
  function values(parts) {
    const found = parts.flatMap((part) => (part.enum || (part.const !== undefined ? [part.const] : []))
      .map((one) => ({ label: String(one), type: "enum", info: part.description || "" })));
    if (parts.some((part) => part.type === "boolean")) found.push({ label: "true", type: "keyword" }, { label: "false", type: "keyword" });
    return found;
  }
  globalThis.policyEditor = { view, startCompletion };
}
