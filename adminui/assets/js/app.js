// Comforts on top of pages that work without this script.
"use strict";

// Blocks of code are copied by their buttons, also those that came later.
document.addEventListener("click", async (event) => {
  const button = event.target.closest("button.copy");
  if (!button) return;
  const code = button.closest("figure").querySelector("code");
  try {
    await navigator.clipboard.writeText(code.textContent);
    button.textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(code);
    button.textContent = "Selected";
  }
  setTimeout(() => { button.textContent = "Copy"; }, 2000);
});

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
