// Comforts on top of pages that work without this script.
"use strict";

// A copy button for every block of code, also of one that came later.
const addCopyButtons = () => {
  for (const figure of document.querySelectorAll("figure.code:not(.diff)")) {
    const caption = figure.querySelector("figcaption");
    if (caption.querySelector("button")) continue;
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Copy";
    button.setAttribute("aria-label", "Copy: " + caption.textContent.trim());
    button.addEventListener("click", async () => {
      const code = figure.querySelector("code");
      try {
        await navigator.clipboard.writeText(code.textContent);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(code);
        button.textContent = "Selected";
      }
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
    caption.append(button);
  }
};
addCopyButtons();
document.addEventListener("htmx:after:swap", addCopyButtons);

// The contents popover closes once a line of it is followed.
for (const contents of document.querySelectorAll(".contents[popover]")) {
  contents.addEventListener("click", (event) => {
    if (event.target.closest("a") && contents.matches(":popover-open")) contents.hidePopover();
  });
}

// A notice shows when the address in data-live counts more than the page does.
// The page itself stays as it is, so that nothing opened is lost.
for (const live of document.querySelectorAll("[data-live]")) {
  const ask = async () => {
    if (document.hidden) return;
    try {
      const response = await fetch(live.dataset.live, { headers: { Accept: "application/json" } });
      const { total } = await response.json();
      if (total > Number(live.dataset.total)) live.hidden = false;
    } catch {
      // The hub is away; the next round asks again.
    }
  };
  setInterval(ask, 2000);
}
