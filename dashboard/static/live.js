// What the pages do not do by themselves: times in the reader's zone, copy
// buttons, and live numbers. Without it everything is there, in UTC and still.
"use strict";
(() => {
  const short = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" });
  const exact = new Intl.DateTimeFormat("en-GB", { dateStyle: "full", timeStyle: "long" });
  const all = (selector) => document.querySelectorAll(selector);

  function local(time) {
    const at = new Date(time.dateTime);
    if (isNaN(at)) return;
    time.textContent = short.format(at);
    time.title = exact.format(at) + " (" + time.dateTime + ")";
  }
  all("time").forEach(local);

  const spoken = document.getElementById("spoken");
  if (navigator.clipboard) {
    for (const button of all("button[data-copy]")) {
      button.hidden = false;
      button.addEventListener("click", async () => {
        let said = "Copied";
        try {
          await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
        } catch {
          said = "Not allowed";
        }
        button.textContent = spoken.textContent = said;
        setTimeout(() => { button.textContent = "Copy"; spoken.textContent = ""; }, 2000);
      });
    }
  }

  // A page that is still being made says so; it is looked at again.
  if (document.querySelector("[data-again]")) setTimeout(() => location.reload(), 2000);

  const events = document.body.dataset.events;
  if (!events) return;

  function show(update) {
    for (const element of all("[data-live]")) {
      const value = update.values[element.dataset.live];
      if (value === undefined) continue;
      if (element.tagName === "TIME") {
        if (value && value !== element.dateTime) {
          element.dateTime = value;
          local(element);
        }
      } else if (value !== element.textContent) element.textContent = value;
    }
    for (const rect of all("[data-live-width]")) {
      const x = update.values[rect.dataset.liveX], width = update.values[rect.dataset.liveWidth];
      if (x !== undefined) rect.setAttribute("x", x);
      if (width !== undefined) rect.setAttribute("width", width);
    }
    for (const time of all("[data-live-asof]")) {
      time.dateTime = update.asOf;
      local(time);
    }
    // A batch has begun or ended: the page says so and lets the reader decide.
    for (const notice of all("[data-open-all]")) notice.hidden = notice.dataset.openAll === update.open;
    for (const notice of all("[data-open-one]")) notice.hidden = update.open.split(" ").includes(notice.dataset.openOne);
  }

  // A browser has few connections for one host: pages in the background give
  // theirs back.
  let source = null;
  function follow() {
    if (document.hidden) {
      if (source) source.close();
      source = null;
    } else if (!source) {
      source = new EventSource(events);
      source.onmessage = (event) => show(JSON.parse(event.data));
    }
  }
  document.addEventListener("visibilitychange", follow);
  addEventListener("pagehide", () => { if (source) source.close(); source = null; });
  addEventListener("pageshow", follow);
  follow();
})();
