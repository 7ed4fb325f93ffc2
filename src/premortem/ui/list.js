"use strict";
(() => {
  const form = document.querySelector("form.filters"), search = form.elements.q;
  const links = () => [...document.querySelectorAll(".runs a")];

  // Two runs that are selected can be compared.
  const selected = () => [...document.querySelectorAll(".runs li > input:checked")];
  const offer = () => {
    const compare = document.getElementById("compare"), two = selected();
    if (!compare) return;
    compare.hidden = two.length !== 2;
    compare.href = `/compare?${new URLSearchParams(two.map((box) => ["run", box.value]))}`;
  };
  document.addEventListener("change", (event) => {
    if (!event.target.matches(".runs li > input")) return;
    const all = selected();
    if (all.length > 2) all.find((box) => box !== event.target).checked = false; // the third takes the place of the first
    offer();
  });
  document.addEventListener("click", (event) => {
    const order = event.target.closest("[data-sort]");
    if (!order || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    form.elements.sort.value = order.dataset.sort;
    filter();
  });

  let asked = 0;
  const show = async () => {
    const mine = ++asked, fresh = await live.fetched(location.href);
    if (!fresh || mine !== asked) return; // the user has asked for something else since
    live.patch(document.getElementById("listing"), fresh.getElementById("listing"));
    offer();
    document.documentElement.dataset.shown = String(Number(document.documentElement.dataset.shown ?? 0) + 1);
  };

  let wait;
  const filter = () => {
    const wanted = new URLSearchParams([...new FormData(form)].filter(([, value]) => value)).toString();
    history.replaceState(null, "", wanted ? `/?${wanted}` : "/");
    show();
  };
  form.addEventListener("submit", (event) => { event.preventDefault(); filter(); });
  // Of the search field it comes when one leaves it, which is when one presses on a run: the list must stay where it is.
  form.addEventListener("change", (event) => { if (event.target !== search) filter(); });
  form.addEventListener("input", () => { clearTimeout(wait); wait = setTimeout(filter, 150); });

  const move = (by) => {
    const all = links(), at = all.indexOf(document.activeElement);
    const to = all[at < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(Math.max(at + by, 0), all.length - 1)];
    to?.focus();
    to?.scrollIntoView({ block: "nearest" });
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = event.target === search, choosing = event.target.tagName === "SELECT";
    if (event.key === "Escape") {
      if (typing && search.value) { search.value = ""; filter(); }
      document.activeElement.blur();
    } else if (event.key === "ArrowDown" && !choosing || event.key === "j" && !typing) move(1);
    else if (event.key === "ArrowUp" && !choosing || event.key === "k" && !typing) move(-1);
    else if (event.key === "/" && !typing) search.select();
    else if (event.key === "Enter" && typing) links()[0]?.focus();
    else if (event.key === "x" && !typing) document.activeElement.closest(".runs li")?.querySelector("input").click();
    else if (event.key === "c" && !typing && selected().length === 2) document.getElementById("compare").click();
    else return;
    event.preventDefault();
  });

  offer();
  setInterval(show, 30_000); // "5 min ago"
  live.listen(document.getElementById("listing").dataset.events, "", show);
})();
