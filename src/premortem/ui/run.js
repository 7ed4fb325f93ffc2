"use strict";
(() => {
  const here = location.pathname;
  const views = new Map(); // plot → what Bokeh has made of it
  const versions = new Map(); // plot → the state of the run that it shows
  let state = document.getElementById("over").dataset.state, counted = 0;

  const item = async (name) => {
    const answer = await fetch(`${here}/plots/${name}`);
    return answer.ok ? answer.json() : null;
  };
  const embed = async (place, data) => {
    place.id = `plot-${counted++}`;
    const made = await Bokeh.embed.embed_item(data, place.id);
    views.set(place.dataset.plot, made);
    // The first range shows later whether the user has zoomed.
    for (const range of models(made, "Range1d")) range.setv({ reset_start: range.start, reset_end: range.end });
    premortem.dress();
    return made;
  };
  const models = (view, type) => [...root(view).document.all_models].filter((model) => model.type === type);
  const root = (view) => (view.roots ? [...view.roots][0] : [...view][0]).model;
  const zoomed = (range) => range.start !== range.reset_start || range.end !== range.reset_end;

  // Bokeh keeps a list of all that was ever made.
  const forget = (made) => {
    made.clear();
    const at = Bokeh.documents.indexOf(made);
    if (at >= 0) Bokeh.documents.splice(at, 1);
  };

  // New numbers in the plot that is there: zoom, tooltip and hidden lines stay. False when it has become another plot.
  const refill = (place, data) => {
    const shown = root(views.get(place.dataset.plot)).document;
    const fresh = shown.constructor.from_json(data.doc);
    const before = [...shown.all_models], after = [...fresh.all_models];
    const kinds = (models) => models.map((model) => model.type).join();
    forget(fresh);
    if (kinds(before) !== kinds(after)) return false;
    before.forEach((model, at) => {
      const other = after[at];
      if (model.type === "ColumnDataSource") model.data = other.data;
      else if (model.type === "Span") model.location = other.location;
      else if (model.type === "FactorRange") model.factors = other.factors;
      else if (model.type === "Range1d") {
        const stay = zoomed(model) ? {} : { start: other.start, end: other.end };
        model.setv({ bounds: other.bounds, reset_start: other.start, reset_end: other.end, ...stay });
      }
    });
    return true;
  };

  // A plot of another make is drawn beside the old one, and then takes its place.
  const redraw = async (place, data) => {
    const before = views.get(place.dataset.plot);
    const kept = models(before, "Figure").map(({ x_range: range }) => (zoomed(range) ? { start: range.start, end: range.end } : null));
    const fresh = document.createElement("div");
    for (const each of place.attributes) fresh.setAttribute(each.name, each.value);
    fresh.style.cssText = `position:absolute;visibility:hidden;width:${place.clientWidth}px`;
    place.after(fresh);
    const after = await embed(fresh, data);
    models(after, "Figure").forEach((plot, at) => { if (kept[at]) plot.x_range.setv(kept[at]); });
    await new Promise((done) => setTimeout(done, 60)); // until it is painted
    fresh.style.cssText = "";
    place.remove();
    forget(root(before).document);
  };

  const near = (place) => {
    const box = place.getBoundingClientRect();
    return box.top < innerHeight + 400 && box.bottom > -400;
  };
  // Only what is looked at costs something; the rest comes when one scrolls there.
  const draw = async () => {
    for (const place of document.querySelectorAll("main [data-plot]")) {
      const name = place.dataset.plot;
      if (!near(place) || versions.get(name) === state) continue;
      const now = state, data = await item(name);
      if (!data) continue;
      if (!views.has(name)) await embed(place, data);
      else if (!refill(place, data)) await redraw(place, data);
      versions.set(name, now);
    }
  };
  let drawing = Promise.resolve();
  const queue = (work) => { drawing = drawing.then(work, work); return drawing; };

  const gone = () => {
    const status = document.getElementById("status");
    status.textContent = "This run was deleted. What is shown is the last that was seen of it.";
    status.className = "bad";
    document.querySelectorAll("[data-ask]").forEach((button) => { button.disabled = true; });
  };

  const refresh = async (next) => {
    if (next === "gone") { gone(); return; }
    const fresh = await live.fetched(here);
    if (!fresh?.getElementById("over")) return;
    for (const part of ["main", "#over"]) live.patch(document.querySelector(part), fresh.querySelector(part));
    state = document.getElementById("over").dataset.state;
    for (const name of views.keys()) if (!document.querySelector(`[data-plot="${CSS.escape(name)}"]`)) views.delete(name);
    await draw();
    document.documentElement.dataset.shown = state;
  };

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-ask]");
    if (!button) return;
    if (button.dataset.sure && !button.classList.contains("sure")) { // the second click is meant
      const words = button.textContent;
      button.classList.add("sure");
      button.textContent = button.dataset.sure;
      setTimeout(() => { button.classList.remove("sure"); button.textContent = words; }, 4000);
      return;
    }
    button.disabled = true;
    const answer = await fetch(button.dataset.ask, { method: "POST", headers: { "x-premortem": "1" } });
    document.getElementById("status").textContent = (await answer.json()).status;
    button.disabled = false;
  });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") location.href = "/"; });
  let wait;
  addEventListener("scroll", () => { clearTimeout(wait); wait = setTimeout(() => queue(draw), 80); }, { passive: true });
  addEventListener("resize", () => queue(draw));
  queue(draw);
  live.listen(document.getElementById("over").dataset.events, state, (next) => queue(() => refresh(next)));
})();
