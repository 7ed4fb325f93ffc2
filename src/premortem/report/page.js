"use strict";
(() => {
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const touch = window.matchMedia("(pointer: coarse)").matches;

  // Bokeh draws on a canvas, which knows nothing of the page's colours: they are handed over.
  const paint = (isDark) => {
    const ink = isDark ? "#e4e7ea" : "#1c2024", quiet = isDark ? "#96a0a9" : "#667079", rule = isDark ? "#2c3238" : "#e3e6e9";
    const paper = isDark ? "#16191c" : "#ffffff";
    const font = { axis_label_text_font: "system-ui, sans-serif", major_label_text_font: "system-ui, sans-serif" };
    for (const shown of Bokeh.documents) for (const model of shown.all_models) {
      if (model.type.endsWith("Axis")) {
        model.setv({ ...font, axis_label_text_color: quiet, axis_label_text_font_style: "normal", axis_label_text_font_size: "12px",
          major_label_text_color: quiet, axis_line_color: rule, major_tick_line_color: rule, minor_tick_line_color: null });
      } else if (model.type === "Grid") model.setv({ grid_line_color: rule });
      else if (model.type === "Title") model.setv({ text_color: ink, text_font: "system-ui, sans-serif", text_font_size: "13px", text_font_style: "bold" });
      else if (model.type === "Legend") model.setv({ label_text_color: ink, label_text_font: "system-ui, sans-serif", label_text_font_size: "12px",
        background_fill_color: paper, background_fill_alpha: 0.8, border_line_color: null });
      else if (model.type === "ColorBar") model.setv({ major_label_text_color: quiet, title_text_color: quiet, title_text_font_style: "normal",
        title_text_font_size: "11px", bar_line_color: null, major_tick_line_color: null });
    }
  };

  // Plots that were just embedded get the page's looks.
  const dress = () => {
    // A finger that scrolls the page must not zoom a plot.
    if (touch) for (const shown of Bokeh.documents) for (const model of shown.all_models)
      if (model.type === "Toolbar") model.setv({ active_drag: null });
    paint(dark.matches);
    document.documentElement.dataset.ready = "yes";
  };
  // Paper does not wait for the next frame: the canvases are drawn at once.
  const draw = (view) => {
    if (typeof view.paint === "function") view.paint();
    for (const child of view.child_views ?? []) draw(child);
  };
  dark.addEventListener("change", () => paint(dark.matches));
  window.addEventListener("beforeprint", () => { paint(false); for (const view of Bokeh.index) draw(view); });
  window.addEventListener("afterprint", () => paint(dark.matches));
  globalThis.premortem = { dress };

  const given = document.getElementById("plots");
  if (!given) { // a live page fetches them; those that never change, here
    for (const place of document.querySelectorAll("[data-from]")) fetch(place.dataset.from).then((answer) => answer.json())
      .then((item) => { place.id = "plot-fetched"; return Bokeh.embed.embed_item(item, place.id); }).then(dress);
    return;
  }
  const items = JSON.parse(given.textContent);
  const places = [...document.querySelectorAll("[data-plot]")].filter((place) => place.dataset.plot in items);
  places.forEach((place, number) => { place.id = `plot-${number}`; });
  Promise.all(places.map((place) => Bokeh.embed.embed_item(items[place.dataset.plot], place.id))).then(dress);
})();
