// Keyboard shortcuts of the console. They do nothing while the user types, and the user can turn them off.
{
  const focusSearch = () => {
    const box = document.getElementById("search");
    box?.focus();
    box?.select();
    return box;
  };

  // The rows of lists and of folds, and what each of them opens.
  const rows = () => [...document.querySelectorAll("#region .list tbody tr, #region .folds .fold")]
    .filter((row) => row.checkVisibility());
  const targetOf = (row) => row.querySelector("a[href], summary") ?? row;
  const current = () => document.activeElement.closest("#region .list tbody tr, #region .folds .fold");

  const move = (by) => {
    const all = rows();
    const at = all.indexOf(current());
    const row = all[at < 0 ? 0 : Math.min(all.length - 1, Math.max(0, at + by))];
    if (!row) return;
    const target = targetOf(row);
    if (target === row) row.tabIndex = -1;
    target.focus({ preventScroll: true, focusVisible: true });
    row.scrollIntoView({ block: "nearest" });
  };

  const select = () => current()?.querySelector("input[type=checkbox]")?.click();

  // Opens the form that asks for the reason. Only the user submits it.
  const resend = () => {
    const form = document.querySelector("#region form.chosen");
    const box = current()?.querySelector("input[type=checkbox]");
    if (form) {
      if (box && !form.querySelector("input[type=checkbox]:checked")) box.click();
      if (form.querySelector("input[type=checkbox]:checked")) form.querySelector("[name=why]").focus();
      return;
    }
    const act = document.querySelector("#region details.act[data-key=r]");
    if (!act) return;
    act.open = true;
    act.querySelector("input:not([type=hidden])").focus();
  };

  const showHelp = () => {
    document.getElementById("user")?.hidePopover();
    document.getElementById("keys")?.showModal();
  };
  document.addEventListener("click", (event) => { if (event.target.closest(".keys-open")) showHelp(); });

  const actions = {
    j: () => move(1), k: () => move(-1), o: () => { const row = current(); if (row) targetOf(row).click(); },
    x: select, r: resend, "/": focusSearch, "?": showHelp,
  };
  document.addEventListener("keydown", (event) => {
    if (event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey)) {
      if (focusSearch()) event.preventDefault();
      return;
    }
    const typing = event.target.closest("input:not([type=checkbox]), textarea, select, [contenteditable]");
    if (typing || event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return;
    if (document.documentElement.dataset.keys === "off" || document.querySelector("dialog[open]")) return;
    if (!Object.hasOwn(actions, event.key)) return;
    event.preventDefault();
    actions[event.key]();
  });
}
