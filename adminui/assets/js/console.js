// Comforts of the console. Its pages work without this script.

// The search box is a key away.
document.addEventListener("keydown", (event) => {
  const box = document.getElementById("search");
  if (!box) return;
  const typing = event.target.closest("input, textarea, select, [contenteditable]");
  if ((event.key === "/" && !typing && !event.ctrlKey && !event.metaKey) || (event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey))) {
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
  if (event.target.id !== "pulse") return;
  for (const note of document.querySelectorAll("[data-paused]")) note.hidden = !busy();
  missed = busy();
  if (missed) event.stopImmediatePropagation();
}, true);
const goOn = () => {
  if (!missed || busy()) return;
  missed = false;
  document.getElementById("pulse")?.dispatchEvent(new CustomEvent("changed", { bubbles: true }));
};
document.addEventListener("change", goOn);
document.addEventListener("toggle", goOn, true);
