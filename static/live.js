// Keeps the page's one stream open and shows whether it is; htmx swaps what comes. Makes the copy buttons work.
(() => {
  const DELAYS = [1000, 2000, 5000, 10000, 30000];
  const SILENCE = 45000;
  const WORDS = { online: "Live", reconnecting: "Connecting again", gone: "Ended" };
  const ENDED = { 401: "Signed out", 403: "Not allowed", 404: "Not here any more" };

  document.documentElement.toggleAttribute("data-copies", Boolean(navigator.clipboard)); // app.css shows the buttons
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    await navigator.clipboard.writeText(button.dataset.copy);
    button.title = "Copied";
  });

  const stream = document.getElementById("stream");
  if (!stream) return;

  let tries = 0;
  let build = null;
  let connection = null;
  let silence = null;

  const wait = () => DELAYS[Math.min(tries++, DELAYS.length - 1)] * (0.75 + Math.random() / 2);

  function show(state, words = WORDS[state]) {
    const sign = document.querySelector(".stream");
    if (sign.dataset.state === state) return;
    sign.dataset.state = state;
    sign.querySelector("use").setAttribute("href", `#s-${state}`);
    sign.querySelector("span").textContent = words;
  }

  function listen() {
    clearTimeout(silence);
    silence = setTimeout(() => connection?.reader?.cancel(), SILENCE);
  }

  function finish(status) {
    clearTimeout(silence);
    show("gone", ENDED[status]);
    stream.remove();
  }

  function again() {
    show("reconnecting");
    setTimeout(() => stream.dispatchEvent(new Event("reopen")), wait());
  }

  // The first connection: htmx gives up when it fails.
  stream.addEventListener("htmx:error", () => stream._htmx?.sse || again());
  stream.addEventListener("htmx:response:error", (event) => {
    const status = event.detail.ctx.response.raw.status;
    if (status in ENDED) finish(status);
    else again();
  });

  // The later ones: htmx tries again by itself, after the delay that we set.
  stream.addEventListener("htmx:sse:after:connection", (event) => {
    connection = event.detail.connection;
    tries = 0;
    connection.config.reconnectJitter = 0;
    connection.config.reconnectDelay = wait();
    show("online");
    listen();
  });
  stream.addEventListener("htmx:sse:before:connection", (event) => {
    if (event.detail.connection.attempt > 0) show("reconnecting");
  });
  stream.addEventListener("htmx:sse:error", (event) => {
    if (event.detail.status in ENDED) return finish(event.detail.status);
    const { config, attempt } = event.detail.connection;
    config.reconnectDelay = wait() / 2 ** attempt; // htmx doubles it with each attempt
    show("reconnecting");
  });

  stream.addEventListener("htmx:sse:before:message", listen);
  stream.addEventListener("ready", (event) => {
    const { buildId } = JSON.parse(event.detail.data);
    if (build !== null && build !== buildId) location.reload();
    build = buildId;
  });
})();
