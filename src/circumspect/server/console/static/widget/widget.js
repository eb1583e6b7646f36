// The chat's button and frame for any site. Everything is in a closed shadow root: the page's styles and scripts do not
// reach in, and nothing of ours reaches out. It works under a strict Content-Security-Policy of the page's: allow our host
// in script-src and frame-src.
(() => {
  "use strict";
  const script = document.currentScript;
  const key = script?.dataset.key;
  if (!key) {
    console.error("circumspect widget: data-key is missing in the script tag");
    return;
  }
  const host = new URL(script.src).origin;
  const base = new URL(".", script.src).href; // the server may be below a path
  const asked = (script.dataset.lang || document.documentElement.lang || navigator.language || "en").slice(0, 2).toLowerCase();
  const language = asked === "iw" ? "he" : asked;
  const WORDS = {}; // by language, filled in by the server from the catalogues
  const [opens, closes, title, direction] = WORDS[language] || WORDS.en;
  const PATIENCE = 5000;
  const colour = /^#[0-9a-f]{6}$/i.test(script.dataset.colour || "") ? script.dataset.colour : "#3450c8";
  const linear = (at) => { const part = parseInt(colour.slice(at, at + 2), 16) / 255; return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4; };
  const luminance = 0.2126 * linear(1) + 0.7152 * linear(3) + 0.0722 * linear(5);
  const text = luminance > 0.179 ? "#000" : "#fff"; // whichever of the two can be read better on it

  const place = document.createElement("div");
  place.dataset.circumspect = "widget";
  const root = place.attachShadow({ mode: "closed" });
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(`
    :host { all: initial; color-scheme: light dark; }
    button { position: fixed; inset-block-end: 20px; inset-inline-end: 20px; inline-size: 56px; block-size: 56px; border-radius: 50%;
      border: 0; background: ${colour}; color: ${text}; cursor: pointer; z-index: 2147483646; box-shadow: 0 4px 14px rgb(0 0 0 / 30%);
      display: grid; place-items: center; padding: 0; }
    button:hover { filter: brightness(.88); }
    button:focus-visible { outline: 3px solid #fff; box-shadow: 0 0 0 6px ${colour}; }
    svg { inline-size: 28px; block-size: 28px; fill: none; stroke: currentColor; stroke-width: 2; stroke-linecap: round; stroke-linejoin: round; }
    .news { position: absolute; inset-block-start: -2px; inset-inline-end: -2px; inline-size: 16px; block-size: 16px; border-radius: 50%;
      background: #c9302c; border: 2px solid #fff; }
    [hidden] { display: none !important; }
    iframe { position: fixed; inset-block-end: 88px; inset-inline-end: 20px; inline-size: min(390px, calc(100vw - 40px));
      block-size: min(620px, calc(100vh - 108px)); border: 0; border-radius: 14px; box-shadow: 0 8px 40px rgb(0 0 0 / 30%);
      z-index: 2147483647; background: Canvas; }
    iframe.waits { opacity: 0; pointer-events: none; }
    @media (max-width: 480px) { iframe { inset: 0; inline-size: 100vw; block-size: 100dvh; border-radius: 0; } }
  `);
  root.adoptedStyleSheets = [sheet];

  const button = document.createElement("button");
  button.type = "button";
  button.setAttribute("aria-expanded", "false");
  button.setAttribute("aria-label", opens);
  const picture = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  picture.setAttribute("viewBox", "0 0 24 24");
  picture.setAttribute("aria-hidden", "true");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", "M21 12a8 8 0 0 1-11.6 7.1L4 20l1.2-4.6A8 8 0 1 1 21 12z");
  picture.append(path);
  const news = document.createElement("span");
  news.className = "news";
  news.hidden = true;
  button.append(picture, news);
  const wrapper = document.createElement("div");
  wrapper.dir = direction;
  wrapper.lang = language;
  wrapper.append(button);
  root.append(wrapper);

  let frame = null;
  let here = false;
  const memory = "circumspect-open";
  const drawer = "circumspect:" + key.slice(0, 20);
  const keep = (name, text) => { try { text ? sessionStorage.setItem(name, text) : sessionStorage.removeItem(name); } catch { /* not kept */ } };
  const kept = (name) => { try { return sessionStorage.getItem(name); } catch { return null; } };
  const tell = (word, text) => frame?.contentWindow?.postMessage({ circumspect: word, text }, host);

  function open(focus) {
    if (!frame) {
      frame = document.createElement("iframe");
      frame.title = title;
      frame.className = "waits"; // until it says that it is ours: a browser's own page about what it refuses is for nobody
      frame.src = `${base}widget?lang=${encodeURIComponent(language)}&key=${encodeURIComponent(key)}`;
      frame.addEventListener("load", () => {
        if (focus) frame.focus();
        tell(focus ? "opened" : "shown"); // after a reload of the page the chat is back, and takes nobody's focus
        setTimeout(() => { if (!here) leave(); }, PATIENCE);
      }, { once: true });
      wrapper.append(frame);
    }
    frame.hidden = false;
    news.hidden = true;
    button.setAttribute("aria-expanded", "true");
    button.setAttribute("aria-label", closes);
    keep(memory, "1");
    if (focus) {
      frame.focus();
      tell("opened");
    }
  }
  // Without its frame the chat is nothing: no button that opens an empty page.
  function leave() {
    keep(memory, "");
    place.remove();
    console.warn(`circumspect widget: ${host} does not show the chat on ${location.origin}. Is that in widget.origins of the tenant's file, is data-key a valid key of scope widget, does the server run?`);
  }
  function close() {
    frame.hidden = true;
    button.setAttribute("aria-expanded", "false");
    button.setAttribute("aria-label", opens);
    keep(memory, "");
    tell("closed");
    button.focus();
  }
  button.addEventListener("click", () => (frame && !frame.hidden ? close() : open(true)));
  addEventListener("message", (event) => {
    if (!frame || event.source !== frame.contentWindow || event.origin !== host) return;
    if (event.data?.circumspect === "here") {
      here = true;
      frame.className = "";
    }
    if (event.data?.circumspect === "close") close();
    if (event.data?.circumspect === "news" && frame.hidden) news.hidden = false;
    // Where the browser gives the frame no storage of its own, it asks this page to keep what it has not sent yet.
    if (event.data?.circumspect === "keep") keep(drawer, String(event.data.text));
    if (event.data?.circumspect === "recall") tell("kept", kept(drawer));
    // Whoever is signed in on this page; read anew each time, since the page may have a newer token by now.
    if (event.data?.circumspect === "who") tell("user", script.dataset.userToken || "");
  });

  const start = () => {
    document.body.append(place);
    if (kept(memory)) open(false);
  };
  document.body ? start() : addEventListener("DOMContentLoaded", start);
})();
