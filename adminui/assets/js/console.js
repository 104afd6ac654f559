// Enhancements of the console. Its pages work without JavaScript.

// Escape, or a click elsewhere, closes a folded form.
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

// Open and close a cause that takes two lines on a narrow screen.
document.addEventListener("click", (event) => {
  const more = event.target.closest(".cause-more");
  if (more) more.setAttribute("aria-expanded", more.getAttribute("aria-expanded") === "false");
});

// Live updates pause while rows are selected or a form is open, and resume afterwards.
let missed = false;
const busy = () => document.querySelector("#region form.chosen input:checked, #region details.act[open]") !== null;
document.addEventListener("changed", (event) => {
  if (event.target.id !== "live") return;
  for (const note of document.querySelectorAll("[data-paused]")) note.hidden = !busy();
  missed = busy();
  if (missed) event.stopImmediatePropagation();
}, true);
const changed = () => document.getElementById("live")?.dispatchEvent(new CustomEvent("changed", { bubbles: true }));
const resume = () => {
  if (!missed || busy()) return;
  missed = false;
  changed();
};
document.addEventListener("change", resume);
document.addEventListener("toggle", resume, true);

// Poll on pages that get no change events, or not all of them.
const pollSeconds = document.querySelector("#region[data-every], #live[data-every]")?.dataset.every;
if (pollSeconds) setInterval(() => { if (!document.hidden) changed(); }, pollSeconds * 1000);

// Update relative times by the clock of the hub.
let clockOffset = 0; // clock of the hub minus the local clock, in milliseconds
const setClock = () => {
  const hubNow = Date.parse(document.getElementById("region")?.dataset.now);
  if (hubNow) clockOffset = hubNow - Date.now();
};
const span = (s) => {
  const minutes = Math.round(s / 60);
  if (s < 60) return Math.floor(s) + " s";
  if (minutes < 60) return minutes + " min";
  if (minutes < 600 && minutes % 60) return Math.floor(minutes / 60) + " h " + (minutes % 60) + " min";
  if (s < 172800) return Math.round(s / 3600) + " h";
  return Math.round(s / 86400) + " d";
};
const tick = () => {
  for (const time of document.querySelectorAll("#region time.when")) {
    const s = (Date.now() + clockOffset - Date.parse(time.dateTime)) / 1000;
    const words = Math.abs(s) < 1 ? "now" : s < 0 ? "in " + span(-s) : span(s) + " ago";
    if (time.textContent !== words) time.textContent = words;
  }
};
setClock();
document.addEventListener("htmx:after:swap", setClock);
setInterval(tick, 1000);

// Show a note while the change stream is disconnected. Missed changes are fetched on reconnect.
let connected = false;
let lastBeat = 0; // when the stream last showed activity
const note = document.getElementById("away");
const showDisconnected = () => {
  if (!note?.hidden) return;
  const since = new Date(Date.now() + clockOffset).toLocaleTimeString("en-US", {
    hour: "2-digit", minute: "2-digit", hourCycle: "h23", timeZone: note.dataset.zone, timeZoneName: "short",
  });
  note.textContent = note.dataset.words.replace("%s", since);
  note.hidden = false;
};
document.addEventListener("htmx:sse:error", showDisconnected);
// htmx does not retry a stream that never connected.
document.addEventListener("htmx:finally:request", (event) => {
  if (event.target.id !== "live" || connected) return;
  showDisconnected();
  setTimeout(() => {
    const fresh = event.target.cloneNode();
    fresh.removeAttribute("data-htmx-powered");
    event.target.replaceWith(fresh);
    htmx.process(fresh);
  }, 5000);
});
document.addEventListener("htmx:sse:after:connection", (event) => {
  lastBeat = Date.now();
  // After an action the work may end before the first connection.
  const missedChanges = connected || note?.hidden === false || document.querySelector(".flash");
  if (note && event.detail.connection.status === 200) note.hidden = true;
  if (missedChanges) changed();
  connected = true;
});
// A network may drop the stream silently. Then no beats arrive.
setInterval(() => { if (connected && Date.now() - lastBeat > 50000) showDisconnected(); }, 1000);
document.addEventListener("beat", () => {
  lastBeat = Date.now();
  if (!note || note.hidden) return;
  note.hidden = true;
  changed();
}, true);

// Show the confirmation once: remove it from the URL.
const address = new URL(location);
if (address.searchParams.has("done")) {
  address.searchParams.delete("done");
  history.replaceState(history.state, "", address);
}
