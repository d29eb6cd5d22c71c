// Looks at an open page for what a stranger's text must never become; answers [[word, what and where], …].
() => {
  const found = [];
  const told = (one) => `${one.localName}${one.id && "#" + one.id} in ${location.pathname + location.search}: ${one.outerHTML.slice(0, 200)}`;
  const note = (word, one) => found.push([word, told(one)]);
  const PROSE = new Set("a blockquote br code em hr li ol p pre s strong table tbody td th thead tr ul".split(" "));
  const ACTIVE = "iframe, object, embed, base, applet, frame, portal, marquee, video, audio, img, math, foreignObject";
  const THEIRS = "bdi, option, h1, svg.picture text, svg.picture title, svg.picture desc";

  for (const one of document.querySelectorAll("*")) {
    for (const { name, value } of one.attributes) {
      if (name.startsWith("on")) note("handler-attribute", one);
      if (name === "style") note("style-injection", one);
      if (!["href", "src", "action", "formaction", "xlink:href", "poster", "srcdoc", "data"].includes(name)) continue;
      const { protocol } = new URL(value, document.baseURI);
      if (!["http:", "https:", "mailto:"].includes(protocol)) note("script-url", one);
    }
  }
  for (const one of document.querySelectorAll(ACTIVE)) note("active-element", one);
  for (const one of document.querySelectorAll("style")) note("style-injection", one);
  for (const one of document.scripts)
    if (!new URL(one.src || "x:").pathname.startsWith("/static/") || one.textContent) note("script-element", one);
  const ids = [...document.querySelectorAll("[id]")].map((one) => one.id);
  for (const id of new Set(ids.filter((one, at) => ids.indexOf(one) !== at)))
    note("id-clobber", document.getElementById(id));
  if (document.body.id || document.forms.namedItem("body")) note("id-clobber", document.body);

  for (const prose of document.querySelectorAll(".message .prose"))
    for (const one of prose.querySelectorAll("*")) {
      if (!PROSE.has(one.localName)) note("active-element", one);
      if (one.hasAttribute("id") || one.hasAttribute("name") || one.hasAttribute("class")) note("id-clobber", one);
      if (one.getAttributeNames().some((name) => /^(data-)?hx-|^data-/.test(name))) note("htmx-acts", one);
      if (one.localName === "a" && !/^(https?:\/\/|mailto:)/i.test(one.getAttribute("href"))) note("relative-link", one);
    }
  for (const place of document.querySelectorAll(THEIRS))
    for (const one of place.children) if (!["bdi", "tspan"].includes(one.localName)) note("raw-markup", one);

  // A name that turns the text around it stands alone in its element, or between marks that isolate it.
  const TURNS = /[\u0590-\u08ff\u200e\u200f\u202a-\u202e\u2066-\u2069]/;
  const KEPT = "bdi, [dir=auto], option, input, textarea, h1, .tile, text.path, title, desc, script, template, .unseen";
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const { data, parentElement: parent } = walker.currentNode;
    const apart = data.replace(/\u2068[^\u2068\u2069]*\u2069/g, "");
    if (TURNS.test(apart) && !parent.closest(KEPT)) note("bidi-leak", parent);
  }
  if (TURNS.test(document.title.replace(/\u2068[^\u2068\u2069]*\u2069/g, ""))) note("bidi-leak", document.querySelector("title"));
  if (window.__hits !== undefined) note("script-runs", document.body);
  return found;
}
