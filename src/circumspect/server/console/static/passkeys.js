// Passkeys: asks our server what to ask, asks the authenticator, and sends its answer with the form around the button.
"use strict";

(() => {
  if (!window.PublicKeyCredential?.parseRequestOptionsFromJSON) return;
  const ready = () => { for (const button of document.querySelectorAll("[data-passkey]")) button.hidden = false; };
  ready();
  document.addEventListener("htmx:afterSwap", ready);
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-passkey]"), form = button?.form;
    if (!button || !form.reportValidity()) return;
    const failed = form.querySelector("[data-failed]"), create = button.dataset.passkey === "create";
    failed.hidden = true;
    button.disabled = true;
    try {
      const asked = await fetch(button.dataset.ask, { method: "POST" });
      if (!asked.ok) throw new Error("not asked");
      const options = await asked.json();
      const made = create
        ? await navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options) })
        : await navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options) });
      form.elements.passkey.value = JSON.stringify(made.toJSON());
      form.submit();
    } catch {
      failed.hidden = false;
      button.disabled = false;
    }
  });
})();
