// Enhancements of pages that work without JavaScript.
"use strict";

// Copies a text and says so on the button. Without access to the clipboard it selects the element with the text.
const copyText = async (button, text, element) => {
  const label = button.dataset.label ??= button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(element);
    button.textContent = "Selected";
  }
  setTimeout(() => { button.textContent = label; }, 2000);
};

// Copy buttons of code blocks, including blocks added later.
document.addEventListener("click", (event) => {
  const button = event.target.closest("button.copy");
  if (!button) return;
  const figure = button.closest("figure");
  const code = figure.querySelector("pre code");
  copyText(button, figure.wholeBody ?? code.textContent, code);
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
