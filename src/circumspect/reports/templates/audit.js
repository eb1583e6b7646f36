"use strict";
(function () {
  const cases = Array.from(document.querySelectorAll(".case"));
  const verdict = document.getElementById("verdict");
  const reason = document.getElementById("reason");
  const tool = document.getElementById("tool");
  const words = document.getElementById("words");
  const shown = document.getElementById("shown");
  if (!cases.length || !verdict) { return; }
  function apply() {
    const sought = words.value.trim().toLowerCase();
    let count = 0;
    for (const one of cases) {
      const fits = (!verdict.value || one.dataset.verdict === verdict.value)
        && (!reason.value || one.dataset.reasons.split(" ").includes(reason.value))
        && (!tool.value || one.dataset.tool === tool.value)
        && (!sought || one.textContent.toLowerCase().includes(sought));
      one.classList.toggle("hidden", !fits);
      count += fits ? 1 : 0;
    }
    shown.textContent = count + " / " + cases.length;
  }
  for (const control of [verdict, reason, tool]) { control.addEventListener("change", apply); }
  words.addEventListener("input", apply);
  apply();
})();
