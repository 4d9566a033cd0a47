// Looks over a page as a reviewer for WCAG 2.2 AA would: what can be decided by
// looking at the page itself. Gives sentences, none for a good page.
(() => {
  const wrong = [];
  const name = (e) => e.tagName.toLowerCase() + (e.id ? "#" + e.id : "") + (e.className && e.className.baseVal === undefined ? "." + e.className : "") + " \"" + e.textContent.trim().slice(0, 40) + "\"";
  const shown = (e) => e.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true }) && !e.closest(".unseen, .skip");
  const one = (selector, least, most) => {
    const n = document.querySelectorAll(selector).length;
    if (n < least || n > most) wrong.push(`${n} of ${selector}`);
  };
  one("main", 1, 1); one("header.top", 1, 1); one("footer", 1, 1); one("nav[aria-label=Main]", 1, 1); one("h1", 1, 1);
  if (document.documentElement.lang !== "en") wrong.push("no language");
  if (document.title.length < 5) wrong.push("no title");

  // Headings go down one step at a time.
  let level = 1;
  for (const h of document.querySelectorAll("main :is(h1, h2, h3, h4)")) {
    const is = Number(h.tagName[1]);
    if (is > level + 1) wrong.push(`heading jumps from ${level} to ${is}: ${name(h)}`);
    if (!h.textContent.trim()) wrong.push(`empty heading ${name(h)}`);
    level = is;
  }

  // What can be used has a name, and is large enough to be met.
  const label = (e) => (e.getAttribute("aria-label") || [...(e.labels || [])].map((l) => l.textContent).join(" ") || e.textContent || "").trim();
  for (const e of document.querySelectorAll("a[href], button, input, select, summary")) {
    if (!e.checkVisibility()) continue;
    if (!label(e)) wrong.push(`no name: ${e.outerHTML.slice(0, 120)}`);
    if (!shown(e)) continue;
    const r = e.getBoundingClientRect();
    const inline = getComputedStyle(e).display === "inline";
    if (!inline && (r.height < 24 || r.width < 24)) {
      // Smaller is allowed where nothing else is near (2.5.8, spacing).
      const near = [...document.querySelectorAll("a[href], button, input, select, summary")].some((o) => {
        if (o === e || !o.checkVisibility() || o.contains(e) || e.contains(o)) return false;
        const q = o.getBoundingClientRect();
        const dx = Math.max(0, Math.max(q.left, r.left) - Math.min(q.right, r.right)), dy = Math.max(0, Math.max(q.top, r.top) - Math.min(q.bottom, r.bottom));
        return Math.hypot(dx, dy) + Math.min(r.height, r.width) / 2 < 12;
      });
      if (near) wrong.push(`too small and crowded (${Math.round(r.width)}x${Math.round(r.height)}): ${name(e)}`);
    }
  }
  for (const e of document.querySelectorAll("input:not([type=hidden]), select, textarea")) if (!e.labels || !e.labels.length) wrong.push(`no label: ${name(e)}`);
  for (const e of document.querySelectorAll("svg")) if (e.getAttribute("aria-hidden") !== "true" && !(e.getAttribute("role") === "img" && e.getAttribute("aria-label"))) wrong.push(`a picture without a text: ${e.outerHTML.slice(0, 80)}`);
  for (const e of document.querySelectorAll("section, nav, form[role]")) if (!e.getAttribute("aria-label") && !e.getAttribute("aria-labelledby") && e.tagName !== "FORM" && e.getAttribute("aria-labelledby") !== "") wrong.push(`a region without a name: ${name(e)}`);
  for (const e of document.querySelectorAll("[aria-labelledby], [data-copy], label[for]")) {
    const id = e.getAttribute("aria-labelledby") || e.dataset.copy || e.getAttribute("for");
    if (!document.getElementById(id)) wrong.push(`names ${id}, which is not there`);
  }
  const ids = new Set();
  for (const e of document.querySelectorAll("[id]")) { if (ids.has(e.id)) wrong.push(`two of id ${e.id}`); ids.add(e.id); }

  // Tables have headers that say what they head.
  for (const t of document.querySelectorAll("table")) {
    if (!t.querySelector("thead th[scope=col]")) wrong.push(`a table without heads of columns: ${name(t)}`);
    if (t.querySelector("th:not([scope])")) wrong.push(`a table head without scope: ${name(t)}`);
    const n = t.querySelectorAll("thead tr > *").length;
    for (const row of t.querySelectorAll("tbody tr")) if (row.children.length !== n) wrong.push(`a row of ${row.children.length} cells under ${n} heads: ${name(row)}`);
  }

  // Nothing stands out of the window.
  if (document.scrollingElement.scrollWidth > document.documentElement.clientWidth) {
    const wide = [...document.querySelectorAll("main *, header *")].find((e) => e.getBoundingClientRect().right > document.documentElement.clientWidth + 1 && !e.closest(".scroll") && shown(e));
    wrong.push(`wider than the window (${document.scrollingElement.scrollWidth} > ${document.documentElement.clientWidth}): ${wide ? name(wide) : "?"}`);
  }

  // Text stands out from its ground, 4.5:1.
  const rgb = (c) => { const m = c.match(/[\d.]+/g).map(Number); return m.length > 3 ? m : [...m, 1]; };
  const light = ([r, g, b]) => { const f = (v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; return 0.2126 * f(r) + 0.7152 * f(g) + 0.0722 * f(b); };
  const ground = (e) => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor); if (c[3] > 0) return c; } return [255, 255, 255, 1]; };
  const seen = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const e = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !shown(e) || e.closest("svg, option, datalist, script")) continue;
    const a = rgb(getComputedStyle(e).color), b = ground(e);
    const [x, y] = [light(a), light(b)].sort((p, q) => q - p);
    const ratio = (x + 0.05) / (y + 0.05);
    const key = a + "/" + b;
    if (ratio < 4.5 && !seen.has(key)) { seen.add(key); wrong.push(`contrast ${ratio.toFixed(2)}: ${name(e)}`); }
  }
  return wrong;
})()
