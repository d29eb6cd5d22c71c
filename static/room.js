// A room's page: where its history stands, days in the viewer's zone, writing, replying, walking by keys.
(() => {
  const history = document.getElementById("history"); // morphed, never replaced
  const page = document.scrollingElement;
  const jump = document.getElementById("jump");
  const form = document.getElementById("compose");
  const NEAR = 240; // the form to write in lies over it
  const language = document.documentElement.lang;
  const sameDay = new Intl.DateTimeFormat(language, { dateStyle: "short" });
  const rows = () => [...document.querySelectorAll("#history .message")];
  const isAtEnd = () => history.getBoundingClientRect().bottom - page.clientHeight < NEAR;
  const toEnd = () => history.scrollIntoView({ block: "end" });

  // The server parts days by UTC.
  function markDays() {
    let before = null;
    for (const row of rows()) {
      const at = row.querySelector(".message-head time").dateTime;
      const today = sameDay.format(new Date(at));
      const first = row.closest(".thread") ?? row;
      const above = first.previousElementSibling;
      const mark = above?.classList.contains("day") && !above.dataset.tone ? above : null;
      if (today === before) mark?.remove();
      else if (!mark) first.before(newMark(at));
      before = today;
    }
  }
  function newMark(at) {
    const mark = document.createElement("p");
    mark.className = "day";
    const time = mark.appendChild(document.createElement("time"));
    time.dateTime = at;
    time.dataset.form = "day";
    return mark;
  }

  // Who reads the newest goes on reading the newest; who reads something else is told how many came.
  let wasAtEnd = true;
  let came = 0;
  function tellCame(count) {
    came = count;
    jump.hidden = isAtEnd();
    jump.querySelector(".count").textContent = count || "";
  }
  window.addEventListener("scroll", () => (isAtEnd() ? tellCame(0) : (jump.hidden = false)), { passive: true });
  jump?.addEventListener("click", (event) => {
    event.preventDefault();
    toEnd();
    rows().at(-1)?.focus({ preventScroll: true });
  });

  // Where older rows come in, what is looked at stays in its place; who stands on what goes is taken to what comes.
  const HEIRS = [
    ["#older", "#older a, #history .message"],
    ["#pause, #room-paused", "#pause button, #room-paused button"],
  ];
  let older, looked, place, focused, heirs, around;
  document.addEventListener("htmx:before:swap", () => {
    wasAtEnd = isAtEnd();
    known = new Set(rows().map((row) => row.id));
    older = document.getElementById("older");
    looked = rows().find((row) => row.getBoundingClientRect().bottom > 0);
    place = looked?.getBoundingClientRect().top;
    focused = document.activeElement;
    heirs = HEIRS.find(([region]) => focused.closest(region))?.[1];
    around = focused.closest(".message");
  });
  let known = new Set(rows().map((row) => row.id));
  document.addEventListener("htmx:after:swap", () => {
    markDays();
    // The browser anchors nothing at a link that gives way to what it brought.
    if (older && !older.isConnected && looked)
      page.scrollBy({ top: looked.getBoundingClientRect().top - place, behavior: "instant" });
    if (!focused?.isConnected && document.activeElement === document.body)
      (around ?? (heirs && document.querySelector(heirs)))?.focus({ preventScroll: true });
    const last = Math.max(0, ...[...known].map((id) => Number(id.split("-")[1])));
    const added = rows().filter((row) => !known.has(row.id) && Number(row.id.split("-")[1]) > last);
    if (!added.length) return;
    for (const row of added) row.dataset.new = "true";
    for (const row of added) known.add(row.id);
    document.getElementById("announcement").textContent = added.at(-1).dataset.announcement;
    if (wasAtEnd) toEnd();
    else tellCame(came + added.length);
  });
  document.addEventListener("live:again", ({ detail: query }) => {
    const oldest = rows()[0]?.id.split("-")[1];
    if (oldest) query.set("shown_from", oldest);
  });
  markDays();
  if (!location.hash && history.dataset.view === "newest") toEnd();

  // A body that is cut opens where it stands.
  document.addEventListener("click", (event) => {
    const more = event.target.closest("[data-more]");
    if (!more) return;
    event.preventDefault();
    more.closest(".message").dataset.shown = "";
  });

  // Writing. What the server refuses stays in the field.
  if (!form) return;
  const { body, to, reply_to: replyTo } = form.elements;
  const answered = document.getElementById("answered");
  function reply(row) {
    replyTo.value = row.id.split("-")[1];
    to.value = row.dataset.answeredTo;
    answered.querySelector("b").textContent = replyTo.value;
    answered.hidden = false;
    body.focus();
  }
  function answerNobody() {
    answered.hidden = true;
    replyTo.value = "";
  }
  document.addEventListener("click", (event) => {
    const link = event.target.closest("[data-reply], [data-unanswered]");
    if (!link) return;
    event.preventDefault();
    if (link.matches("[data-reply]")) return reply(link.closest(".message"));
    answerNobody();
    to.value = "*";
    body.focus();
  });
  form.addEventListener("reset", answerNobody);
  form.addEventListener("htmx:after:request", ({ detail: { ctx } }) => {
    if (ctx.response?.raw.ok) {
      const sent = ctx.request.body.get("body");
      const more = body.value.startsWith(sent) ? body.value.slice(sent.length) : body.value; // typed meanwhile
      form.reset();
      body.value = more;
      body.dispatchEvent(new Event("input", { bubbles: true }));
    }
    body.focus();
  });

  // j, k: the message after, the one before. r, y: reply to it; why is it not read.
  const STEPS = { j: 1, k: -1 };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, textarea, select")) return;
    if (document.querySelector("dialog[open]")) return;
    const row = document.activeElement.closest(".message");
    if (event.key in STEPS) {
      const all = rows();
      const at = row ? all.indexOf(row) + STEPS[event.key] : all.length - 1;
      all[Math.max(0, Math.min(at, all.length - 1))]?.focus();
    } else if (event.key === "r" && row) {
      reply(row);
    } else if (event.key === "y" && row) {
      const why = row.querySelector("details");
      if (why) why.open = !why.open;
    } else return;
    event.preventDefault();
  });
})();
