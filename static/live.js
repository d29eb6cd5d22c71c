// Keeps the page's one stream open, shows whether it is, and reads the page again when something was missed.
// htmx swaps what comes. Other scripts hear `live:again` before the page is read again, and may add to its query.
(() => {
  const DELAYS = [1000, 2000, 5000, 10000, 30000];
  const SILENCE = 45000;
  const PATIENCE = 2000; // a short break shows only the mark
  const GLANCE = 10000;
  const ANSWER = 10000;
  const NAMES = new Set(["ready", "heartbeat", "resync", "move"]);
  const WORDS = { online: "Live", reconnecting: "Connecting again", offline: "Offline", gone: "Ended" };
  const ENDED = { 401: "Signed out", 403: "Not allowed", 404: "Not here any more" };

  const element = () => document.getElementById("stream");
  if (!element()) return;
  const address = new URLSearchParams(element().getAttribute("hx-sse:connect").split("?")[1]).get("page");
  const notice = document.getElementById("live-notice");

  let tries = 0;
  let connection = null;
  let heard = Date.now();
  let silence = null;
  let retry = null;
  let telling = null;
  let ended = false;

  const wait = () => DELAYS[Math.min(tries++, DELAYS.length - 1)] * (0.75 + Math.random() / 2);

  function show(state, words = WORDS[state]) {
    const sign = document.querySelector(".stream");
    if (sign.dataset.state === state) return;
    sign.dataset.state = state;
    sign.querySelector("use").setAttribute("href", `#s-${state}`);
    sign.querySelector("span").textContent = words;
    clearTimeout(telling);
    if (state === "online") notice.replaceChildren();
    else telling = setTimeout(tell, state === "reconnecting" ? PATIENCE : 0, state);
  }

  function tell(name) {
    const template = document.querySelector(`template[data-notice="${name}"]`);
    const told = template.content.cloneNode(true);
    for (const time of told.querySelectorAll("time")) time.dateTime = new Date(heard).toISOString();
    notice.replaceChildren(told);
  }

  function listen() {
    heard = Date.now();
    clearTimeout(silence);
    silence = setTimeout(letGo, SILENCE);
    show("online");
  }

  function letGo() {
    connection?.reader?.cancel(); // htmx then connects again, from the last event on
  }

  function finish(status) {
    ended = true;
    clearTimeout(silence);
    clearTimeout(retry);
    letGo();
    element()?.remove();
    show("gone", ENDED[status]);
  }

  function later() {
    if (ended) return;
    show(navigator.onLine ? "reconnecting" : "offline");
    clearTimeout(retry);
    retry = setTimeout(again, wait());
  }

  // Ends the stream first: else it could add what the answer brings as well.
  function again() {
    if (ended) return;
    clearTimeout(retry);
    clearTimeout(silence);
    const place = document.createElement("div");
    place.id = "stream";
    element().replaceWith(place);
    letGo();
    connection = null;
    const query = new URLSearchParams({ page: address });
    document.dispatchEvent(new CustomEvent("live:again", { detail: query }));
    htmx.ajax("GET", `/live/main?${query}`, { source: place, swap: "none", timeout: ANSWER });
  }

  // A tab that is opened in the background takes no stream of the few that a browser has for one host.
  document.addEventListener("htmx:before:request", (event) => {
    if (event.target === element() && document.hidden) event.preventDefault();
  });

  // The page is read, or its stream opened for the first time: htmx gives up when either fails.
  document.addEventListener("htmx:error", (event) => {
    if (event.target === element() && !element()._htmx?.sse) later();
  });
  document.addEventListener("htmx:response:error", (event) => {
    if (event.target !== element()) return;
    const { status } = event.detail.ctx.response.raw;
    if (status in ENDED) finish(status);
    else later();
  });

  // Later on htmx connects again by itself, after the delay that we set.
  document.addEventListener("htmx:sse:after:connection", (event) => {
    connection = event.detail.connection;
    tries = 0;
    connection.config.reconnectJitter = 0;
    connection.config.reconnectDelay = wait();
    listen();
  });
  document.addEventListener("htmx:sse:before:connection", (event) => {
    if (event.detail.connection.attempt > 0) show(navigator.onLine ? "reconnecting" : "offline");
  });
  document.addEventListener("htmx:sse:error", (event) => {
    if (event.target !== element()) return;
    if (event.detail.status in ENDED) return finish(event.detail.status);
    const { config, attempt } = event.detail.connection;
    config.reconnectDelay = wait() / 2 ** attempt; // htmx doubles it with each attempt
    show(navigator.onLine ? "reconnecting" : "offline");
  });

  document.addEventListener("htmx:sse:before:message", (event) => {
    listen();
    const name = event.detail.message.event;
    if (name && !NAMES.has(name)) again();
  });
  document.addEventListener("resync", () => {
    again();
    tell("missed");
    setTimeout(() => notice.querySelector("[data-passing]") && notice.replaceChildren(), GLANCE);
  });
  document.addEventListener("move", (event) => {
    const { id, to, before } = JSON.parse(event.detail.data);
    const moved = document.getElementById(id);
    if (moved) document.getElementById(to)?.moveBefore(moved, before ? document.getElementById(before) : null);
  });

  // A hidden tab lets go (hx-sse does it) and must not wait when it is shown; its clock may have stood still.
  document.addEventListener("visibilitychange", () => {
    if (!connection) return document.hidden || again();
    if (document.hidden) connection.config.reconnectDelay = 0;
    else if (Date.now() - heard > SILENCE) letGo();
  });
  window.addEventListener("pageshow", (event) => event.persisted && again());
  window.addEventListener("online", () => (connection?.reader ? show("online") : again()));
  window.addEventListener("offline", () => show("offline"));
  document.addEventListener("click", (event) => event.target.closest("[data-again]") && again());

  // Another build: the page loads itself once, when nothing would be lost.
  let build = null;
  const isTyped = (field) => field.value !== field.defaultValue && field.type !== "hidden";
  const wouldLose = () =>
    Boolean(document.querySelector("dialog[open]")) ||
    [...document.querySelectorAll("textarea, input:not([type=radio], [type=checkbox])")].some(isTyped);

  const loaded = () => JSON.parse(sessionStorage.getItem("builds") ?? "[]"); // of two behind one address each once

  function load() {
    if (build === null || wouldLose()) return;
    sessionStorage.setItem("builds", JSON.stringify([...loaded(), build]));
    build = null;
    location.reload();
  }
  document.addEventListener("ready", (event) => {
    const { buildId } = JSON.parse(event.detail.data);
    if (buildId === document.documentElement.dataset.build || loaded().includes(buildId)) return;
    build = buildId;
    load();
    tell("build");
  });
  for (const name of ["close", "input", "reset"])
    document.addEventListener(name, () => setTimeout(load), true); // a form is reset after the event
})();
