// The log of events: tells how many rows are new since the page was read, and lets the oldest go when they are many.
(() => {
  const MOST = 240;
  const waiting = document.getElementById("events-new"); // an entry for each new row, from the stream
  const told = document.createElement("span");
  let count = 0;

  function tell() {
    if (!waiting.childElementCount) return;
    count += waiting.childElementCount;
    waiting.replaceChildren();
    told.textContent = `· ${count.toLocaleString("en")} new`;
    document.querySelector(".stream").append(told);
  }

  function letGo() {
    const rows = document.getElementById("events").children;
    const older = document.querySelector("[data-older]");
    if (rows.length <= MOST || !document.querySelector("[data-oldest]")) return;
    while (rows.length > MOST) rows[rows.length - 1].remove();
    const oldest = rows[rows.length - 1].dataset.row;
    document.querySelector("[data-oldest]").textContent = Number(oldest).toLocaleString("en");
    const address = new URL(location.href);
    address.searchParams.set("before", oldest);
    older.href = address.pathname + address.search;
    older.removeAttribute("aria-disabled");
    older.removeAttribute("role");
  }

  document.addEventListener("htmx:after:swap", () => {
    tell();
    letGo();
  });
})();
