"use strict";
// A page hears that it is old, requests itself again, and takes over what has become different.
globalThis.live = (() => {
  const fetched = async (address) => {
    const answer = await fetch(address, { headers: { accept: "text/html" } });
    return answer.ok ? new DOMParser().parseFromString(await answer.text(), "text/html") : null;
  };
  // What is the same stays in its place: what is selected, focused, open or scrolled in it stays so too.
  const key = (node) => node.dataset?.plot || node.dataset?.key || node.id || "";
  const alike = (one, other) => one.nodeName === other.nodeName && key(one) === key(other);
  const patch = (here, there) => {
    if (here.nodeType !== Node.ELEMENT_NODE) { if (here.data !== there.data) here.data = there.data; return; }
    if (here.isEqualNode(there)) return;
    const drawn = here.dataset.plot && here.hasChildNodes(); // its inside and its id are Bokeh's
    const own = here.tagName === "DETAILS" ? "open" : here.tagName === "BUTTON" ? "class" : drawn ? "id" : "";
    for (const each of [...here.attributes]) if (each.name !== own && !there.hasAttribute(each.name)) here.removeAttribute(each.name);
    for (const each of there.attributes) if (each.name !== own && here.getAttribute(each.name) !== each.value) here.setAttribute(each.name, each.value);
    if (drawn || here.classList.contains("sure")) return;
    const fresh = [...there.childNodes];
    let at = here.firstChild;
    fresh.forEach((node, place) => {
      const stays = (old) => fresh.slice(place).some((later) => alike(old, later));
      while (at && !stays(at)) { const gone = at; at = at.nextSibling; gone.remove(); }
      let same = at && alike(at, node) ? at : null;
      if (!same && key(node)) same = [...here.children].find((old) => alike(old, node)) ?? null; // it has moved
      if (same === at && same) at = at.nextSibling;
      else here.insertBefore(same ?? document.adoptNode(node), at);
      if (same) patch(same, node);
    });
    while (at) { const gone = at; at = at.nextSibling; gone.remove(); }
  };
  // Calls back with every state but the one that is shown; never twice at a time, and with the newest.
  const listen = (address, shown, changed) => {
    let busy = false, next = null;
    const work = async () => {
      if (busy) return;
      busy = true;
      while (next !== null) {
        const state = next;
        next = null;
        if (state === shown) continue;
        try { await changed(state); shown = state; } catch (error) { if (!(error instanceof TypeError)) throw error; } // the server is gone
      }
      busy = false;
    };
    const source = new EventSource(address);
    source.onmessage = (event) => { next = event.data; work(); };
    window.addEventListener("pagehide", () => source.close());
    window.addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
    return source;
  };
  return { fetched, listen, patch };
})();
