"use strict";
// A page hears that it is old, requests itself again, and puts the new parts in place.
globalThis.live = (() => {
  const fetched = async (address) => {
    const answer = await fetch(address, { headers: { accept: "text/html" } });
    return answer.ok ? new DOMParser().parseFromString(await answer.text(), "text/html") : null;
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
  return { fetched, listen };
})();
