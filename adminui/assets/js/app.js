// Enhancements of pages that work without JavaScript.
"use strict";

// Copy buttons of code blocks, including blocks added later.
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

// Close the contents popover when one of its links is followed.
for (const contents of document.querySelectorAll(".contents[popover]")) {
  contents.addEventListener("click", (event) => {
    if (event.target.closest("a") && contents.matches(":popover-open")) contents.hidePopover();
  });
}

// Show a notice when the URL in data-live reports a higher total than the page.
// The page is not reloaded, so that opened parts stay open.
for (const live of document.querySelectorAll("[data-live]")) {
  const poll = async () => {
    if (document.hidden) return;
    try {
      const response = await fetch(live.dataset.live, { headers: { Accept: "application/json" } });
      const { total } = await response.json();
      if (total > Number(live.dataset.total)) live.hidden = false;
    } catch {
      // The hub is unavailable. The next poll retries.
    }
  };
  setInterval(poll, 2000);
}
