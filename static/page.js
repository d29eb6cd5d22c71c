// What every page does by itself: times in the viewer's zone, copy buttons, keys, drafts, notes that pass.
(() => {
  const language = document.documentElement.lang;
  const clock = new Intl.DateTimeFormat(language, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
  const second = new Intl.DateTimeFormat(language, { timeStyle: "medium", hourCycle: "h23" });
  const day = new Intl.DateTimeFormat(language, { weekday: "long", day: "numeric", month: "long" });
  const dated = new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "medium", hourCycle: "h23" });
  const exact = new Intl.DateTimeFormat(language, { dateStyle: "long", timeStyle: "long", hourCycle: "h23" });
  const UNITS = [[86400, "days"], [3600, "h"], [60, "min"], [1, "s"]];
  const TICK = 5000;
  const NOTE = 8000;

  function span(seconds) {
    const left = Math.max(0, Math.floor(seconds));
    const [size, unit] = UNITS.find(([one]) => left >= one) ?? [1, "s"];
    const count = Math.floor(left / size);
    return unit === "days" && count === 1 ? "1 day" : `${count} ${unit}`;
  }

  function dayOf(at) {
    const days = Math.round((new Date(at).setHours(0, 0, 0, 0) - new Date().setHours(0, 0, 0, 0)) / 86400000);
    const word = { 0: "Today, ", "-1": "Yesterday, " }[days] ?? "";
    return word + day.format(at);
  }

  const FORMS = {
    clock: (at) => clock.format(at),
    second: (at) => second.format(at),
    moment: (at) => (at.toDateString() === new Date().toDateString() ? second : dated).format(at),
    day: dayOf,
    ago: (at) => span((Date.now() - at) / 1000),
    left: (at) => `${span((at - Date.now()) / 1000)} left`,
  };

  function tellTimes(passing = "") {
    for (const time of document.querySelectorAll(`[data-form]${passing}`)) {
      const at = new Date(time.dateTime ?? time.dataset.at); // a picture's text has no dateTime
      const text = FORMS[time.dataset.form](at);
      if (time.textContent !== text) time.textContent = text;
      if (time.dateTime) time.title = exact.format(at);
    }
    for (const bar of document.querySelectorAll("progress[data-ends]"))
      bar.value = Math.max(0, (new Date(bar.dataset.ends) - Date.now()) / 1000);
  }
  tellTimes();
  document.addEventListener("htmx:after:swap", () => tellTimes());
  setInterval(() => document.hidden || tellTimes(":is([data-form=ago], [data-form=left])"), TICK);

  document.documentElement.toggleAttribute("data-copies", Boolean(navigator.clipboard)); // app.css shows the buttons
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    await navigator.clipboard.writeText(button.dataset.copy);
    button.title = "Copied";
    note("Copied");
  });

  // Says something that just happened, to eyes and to readers of the screen; it goes by itself.
  const notes = document.getElementById("toasts");
  function note(text) {
    const told = document.createElement("p");
    told.className = "toast";
    told.textContent = text;
    notes.append(told);
  }
  new MutationObserver((changes) => {
    for (const { addedNodes } of changes)
      for (const one of addedNodes) if (one.nodeType === 1) setTimeout(() => one.remove(), NOTE);
  }).observe(notes, { childList: true });

  // A form that failed says so; where it was refused for what it says, the answer tells why.
  const UNANSWERED = "The server did not answer. Look whether it was done before you try again.";
  document.addEventListener("htmx:error", ({ target }) => target.matches?.("form") && note(UNANSWERED));
  document.addEventListener("htmx:response:error", ({ target, detail: { ctx } }) => {
    if (!target.matches?.("form") || ctx.text.includes("<hx-partial")) return;
    const isSignedOut = ctx.response.status === 401;
    note(isSignedOut ? "Signed out: sign in, then try again." : "The server refused it. Load the page, then try again.");
  });

  // A draft outlives a reload of its tab.
  for (const field of document.querySelectorAll("[data-draft]")) {
    const key = `draft:${location.pathname}:${field.name}`;
    if (!field.value) field.value = sessionStorage.getItem(key) ?? "";
    field.addEventListener("input", () => sessionStorage.setItem(key, field.value));
    field.form.addEventListener("reset", () => sessionStorage.removeItem(key)); // what is refused stays one
  }

  // Why something stands where it does is looked up when it is opened.
  document.addEventListener(
    "toggle",
    (event) => {
      const { target } = event;
      if (!target.open || !target.dataset?.source) return;
      const place = target.querySelector("[data-place]");
      htmx.ajax("GET", target.dataset.source, { source: target, target: place, swap: "innerHTML" });
    },
    true,
  );

  // Keys. Single ones rest while a field has the focus.
  const sheet = document.getElementById("key-sheet");
  let isGoing = false;
  const isField = (one) => one.matches("input, textarea, select, [contenteditable]");
  document.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.target.form?.requestSubmit();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || isField(event.target)) return;
    const wasGoing = isGoing;
    isGoing = event.key === "g";
    const chosen = document.querySelector(
      wasGoing ? `[data-go="${CSS.escape(event.key)}"]` : `[data-key="${CSS.escape(event.key)}"]`,
    );
    if (event.key === "?" && sheet) sheet.showModal();
    else if (!chosen || document.querySelector("dialog[open]")) return;
    else if (isField(chosen)) chosen.focus();
    else chosen.click();
    event.preventDefault();
  });
  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-opens-keys]")) sheet.showModal();
    if (event.target === sheet) sheet.close(); // beside it
  });
})();
