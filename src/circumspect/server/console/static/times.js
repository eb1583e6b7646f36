// Times as the reader's own clock has them: how long ago, or the local time; for the pointer the zone, and UTC beside it. Without this they are UTC. A module, so that its names are its own.
const language = document.documentElement.lang;
const moment = { year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" };
const short = new Intl.DateTimeFormat(language, moment);
const local = new Intl.DateTimeFormat(language, { ...moment, timeZoneName: "short" });
const universal = new Intl.DateTimeFormat(language, { ...moment, timeZone: "UTC", timeZoneName: "short" });
const relative = new Intl.RelativeTimeFormat(language, { numeric: "auto" });
const zone = local.resolvedOptions().timeZone;
const UNITS = [["year", 31536000], ["month", 2592000], ["week", 604800], ["day", 86400], ["hour", 3600], ["minute", 60]];

function ago(at) {
  const seconds = Math.round((at - Date.now()) / 1000);
  for (const [unit, length] of UNITS) if (Math.abs(seconds) >= length) return relative.format(Math.trunc(seconds / length), unit);
  return relative.format(0, "minute");
}

function rewrite(within) {
  for (const one of within.querySelectorAll("time[datetime]")) {
    const at = Date.parse(one.dateTime);
    if (Number.isNaN(at)) continue;
    one.dataset.tip = `${local.format(at)} (${zone})\n${universal.format(at)}`;
    one.textContent = "ago" in one.dataset ? ago(at) : short.format(at);
  }
}

rewrite(document);
document.addEventListener("htmx:afterSettle", () => rewrite(document));
setInterval(() => rewrite(document), 60_000);
