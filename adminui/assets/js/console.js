// Comforts of the console. Its pages work without this script.

// The search box is a key away.
document.addEventListener("keydown", (event) => {
  const box = document.getElementById("search");
  if (!box) return;
  const typing = event.target.closest("input, textarea, select, [contenteditable]");
  const control = event.ctrlKey || event.metaKey;
  if ((event.key === "/" && !typing && !control) || (event.key.toLowerCase() === "k" && control)) {
    event.preventDefault();
    box.focus();
    box.select();
  }
});

// A form behind a fold closes with Escape, and with a click elsewhere.
document.addEventListener("keydown", (event) => {
  const open = event.key === "Escape" && document.querySelector("details.act[open]");
  if (open) {
    open.open = false;
    open.querySelector("summary").focus();
  }
});
document.addEventListener("click", (event) => {
  for (const open of document.querySelectorAll("details.act[open]")) {
    if (!open.contains(event.target)) open.open = false;
  }
});

// Live updates wait while rows are chosen or a form is being filled in, and
// come once that is over.
let missed = false;
const busy = () => document.querySelector("#region input[type=checkbox]:checked, #region details.act[open]") !== null;
document.addEventListener("changed", (event) => {
  if (event.target.id !== "live") return;
  for (const note of document.querySelectorAll("[data-paused]")) note.hidden = !busy();
  missed = busy();
  if (missed) event.stopImmediatePropagation();
}, true);
const changed = () => document.getElementById("live")?.dispatchEvent(new CustomEvent("changed", { bubbles: true }));
const goOn = () => {
  if (!missed || busy()) return;
  missed = false;
  changed();
};
document.addEventListener("change", goOn);
document.addEventListener("toggle", goOn, true);

// Pages that hear of no changes, or not of all, look for themselves, now and then.
const every = document.querySelector("#region[data-every], #live[data-every]")?.dataset.every;
if (every) setInterval(() => { if (!document.hidden) changed(); }, every * 1000);

// Times go on, by the clock of the hub.
let ahead = 0; // is the hub's clock of this one
const setClock = () => {
  const told = Date.parse(document.getElementById("region")?.dataset.now);
  if (told) ahead = told - Date.now();
};
const span = (s) => {
  if (s < 60) return Math.floor(s) + " s";
  if (s < 3600) return Math.floor(s / 60) + " min";
  if (s < 172800) return Math.floor(s / 3600) + " h";
  return Math.floor(s / 86400) + " d";
};
const tick = () => {
  for (const time of document.querySelectorAll("#region time.when")) {
    const s = (Date.now() + ahead - Date.parse(time.dateTime)) / 1000;
    const words = Math.abs(s) < 1 ? "now" : s < 0 ? "in " + span(-s) : span(s) + " ago";
    if (time.textContent !== words) time.textContent = words;
  }
};
setClock();
document.addEventListener("htmx:after:swap", setClock);
setInterval(tick, 1000);

// While changes are not heard of, the page says so. What happened meanwhile is fetched
// once they are heard of again.
let connected = false;
let heard = 0; // when the connection last gave a sign of life
const note = document.getElementById("away");
const away = () => {
  if (!note?.hidden) return;
  const since = new Date(Date.now() + ahead).toLocaleTimeString("en-US", {
    hour: "2-digit", minute: "2-digit", hourCycle: "h23", timeZone: note.dataset.zone, timeZoneName: "short",
  });
  note.textContent = note.dataset.words.replace("%s", since);
  note.hidden = false;
};
document.addEventListener("htmx:sse:error", away);
// Who was never let in is not tried again by htmx.
document.addEventListener("htmx:finally:request", (event) => {
  if (event.target.id !== "live" || connected) return;
  away();
  setTimeout(() => {
    const fresh = event.target.cloneNode();
    fresh.removeAttribute("data-htmx-powered");
    event.target.replaceWith(fresh);
    htmx.process(fresh);
  }, 5000);
});
document.addEventListener("htmx:sse:after:connection", (event) => {
  heard = Date.now();
  const late = connected || note?.hidden === false;
  if (note && event.detail.connection.status === 200) note.hidden = true;
  if (late) changed();
  connected = true;
});
// A network may drop what comes without a word: then the beats are missed.
setInterval(() => { if (connected && Date.now() - heard > 50000) away(); }, 1000);
document.addEventListener("beat", () => {
  heard = Date.now();
  if (!note || note.hidden) return;
  note.hidden = true;
  changed();
}, true);

// What was just done is said once: the address forgets it.
const address = new URL(location);
if (address.searchParams.has("done")) {
  address.searchParams.delete("done");
  history.replaceState(history.state, "", address);
}
