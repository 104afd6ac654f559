// Charts: show the values of a bar on hover and focus, and open the list of a selected time range.
{
  const slotsOf = (plot) => [...plot.querySelectorAll(".chart-slot")];
  const state = new WeakMap(); // by plot: { from, to, drags }, indexes of bars

  // Marks the bars of the selection and shows their values.
  const show = (plot, from, to) => {
    const slots = slotsOf(plot);
    const [first, last] = from < to ? [from, to] : [to, from];
    slots.forEach((slot, i) => slot.classList.toggle("chart-on", i >= first && i <= last));
    const summary = plot.closest("figure").querySelector(".chart-summary");
    summary.dataset.words ??= summary.textContent;
    const since = slots[first]?.dataset.text.split("–")[0];
    const until = slots[last]?.dataset.text.split("–")[1].split(" · ")[0];
    const words = from < 0 ? summary.dataset.words : first === last ? slots[first].dataset.text : `${since}–${until}`;
    summary.textContent = words;
    if (from >= 0) {
      plot.setAttribute("aria-valuenow", to);
      plot.setAttribute("aria-valuetext", words);
    }
  };
  const leave = (plot) => {
    if (plot === document.activeElement) return;
    state.delete(plot);
    show(plot, -1, -1);
  };

  // Opens the list of the selected bars.
  const open = (plot, { from, to }) => {
    if (!plot.dataset.list) return;
    const slots = slotsOf(plot);
    const range = new URLSearchParams({ from: slots[Math.min(from, to)].dataset.from,
      to: slots[Math.max(from, to)].dataset.to });
    location.href = `${plot.dataset.list}?${range}`;
  };

  const slotAt = (plot, x) => {
    const { left, width } = plot.querySelector("svg").getBoundingClientRect();
    const count = slotsOf(plot).length;
    return Math.min(count - 1, Math.max(0, Math.floor((x - left) / width * count)));
  };
  const plotOf = (event) => event.target.closest?.(".chart-plot[role=slider]");

  // Makes the plots usable. An update replaces bars and summaries, so it shows the selections anew.
  const upgrade = () => {
    for (const plot of document.querySelectorAll(".chart-plot")) {
      const count = slotsOf(plot).length;
      if (!count) continue;
      for (const [name, value] of Object.entries({ role: "slider", tabindex: 0, "aria-label": plot.dataset.label,
        "aria-valuemin": 0, "aria-valuemax": count - 1, "aria-valuenow": count - 1,
        "aria-valuetext": slotsOf(plot).at(-1).dataset.text })) plot.setAttribute(name, value);
      plot.querySelector("svg").setAttribute("aria-hidden", "true");
      const selection = state.get(plot);
      if (selection) show(plot, selection.from, selection.to);
    }
  };
  upgrade();
  document.addEventListener("htmx:after:swap", upgrade);

  document.addEventListener("pointerdown", (event) => {
    const plot = plotOf(event);
    if (!plot?.dataset.list || event.button) return;
    const at = slotAt(plot, event.clientX);
    state.set(plot, { from: at, to: at, drags: true });
    plot.setPointerCapture(event.pointerId);
    show(plot, at, at);
  });
  document.addEventListener("pointermove", (event) => {
    const plot = plotOf(event);
    if (!plot) return;
    const at = slotAt(plot, event.clientX);
    const selection = state.get(plot);
    if (selection?.drags) selection.to = at;
    show(plot, selection?.drags ? selection.from : at, at);
  });
  document.addEventListener("pointerup", (event) => {
    const plot = plotOf(event);
    const selection = plot && state.get(plot);
    if (!selection?.drags) return;
    state.delete(plot);
    open(plot, selection);
  });
  document.addEventListener("pointercancel", (event) => { const plot = plotOf(event); if (plot) leave(plot); });
  document.addEventListener("pointerout", (event) => {
    const plot = plotOf(event);
    if (plot && !state.get(plot)?.drags && !plot.contains(event.relatedTarget)) leave(plot);
  });

  // Arrow keys move between bars, with Shift they extend the selection. Enter opens the list.
  document.addEventListener("focusin", (event) => {
    const plot = plotOf(event);
    if (!plot || state.has(plot)) return;
    const at = slotsOf(plot).length - 1;
    state.set(plot, { from: at, to: at });
    show(plot, at, at);
  });
  document.addEventListener("focusout", (event) => {
    const plot = plotOf(event);
    if (!plot) return;
    state.delete(plot);
    show(plot, -1, -1);
  });
  document.addEventListener("keydown", (event) => {
    const plot = plotOf(event);
    const selection = plot && state.get(plot);
    if (!selection || event.ctrlKey || event.metaKey || event.altKey) return;
    const last = slotsOf(plot).length - 1;
    const move = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, Home: -last, End: last }[event.key];
    if (move) {
      selection.to = Math.min(last, Math.max(0, selection.to + move));
      if (!event.shiftKey) selection.from = selection.to;
      show(plot, selection.from, selection.to);
    } else if (event.key === "Enter") {
      open(plot, selection);
    } else {
      return;
    }
    event.preventDefault();
  });
}
