// Search of the documentation: shows results while typing, from the index named by the page.
// Without JavaScript the form opens a page of results.
for (const form of document.querySelectorAll("form[data-index]")) {
  const input = form.querySelector("input");
  const list = form.querySelector(".found");
  const count = form.querySelector("[role=status]");
  const maxResults = 10;
  const maxTerms = 10; // distinct words of a query that count
  let index;

  const load = () => {
    index ??= fetch(form.dataset.index)
      .then((response) => (response.ok ? response.json() : []))
      .catch(() => []);
    return index;
  };

  // Ranks as find in adminui/reference/search.go does.
  const tokens = (text) => text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [];
  const score = (entry, term) => {
    const title = ` ${tokens(entry.t).join(" ")} `;
    const text = ` ${entry.w} `;
    const page = entry.c ? 0 : 1; // rank a page above its sections
    if (title.includes(` ${term} `)) return 8 + page;
    if (title.includes(` ${term}`)) return 5 + page;
    if ((entry.c ?? "").toLowerCase().includes(term)) return 3;
    if (text.includes(` ${term} `)) return 2;
    return text.includes(` ${term}`) ? 1 : 0;
  };
  const find = (entries, query) => {
    const terms = [...new Set(tokens(query))].slice(0, maxTerms);
    if (!terms.length) return [];
    return entries
      .map((entry) => {
        const scores = terms.map((term) => score(entry, term));
        return { entry, sum: scores.includes(0) ? 0 : scores.reduce((a, b) => a + b) };
      })
      .filter((hit) => hit.sum)
      .sort((a, b) => b.sum - a.sum)
      .map((hit) => hit.entry);
  };

  const part = (name, className, text) => {
    const element = document.createElement(name);
    element.className = className;
    element.textContent = text;
    return element;
  };
  const line = (entry) => {
    const item = document.createElement("li");
    const link = document.createElement("a");
    const title = document.createElement("span");
    link.href = entry.u;
    if (entry.m) title.append(part("span", "method", entry.m), " ");
    title.append(entry.t);
    link.append(title);
    if (entry.c) link.append(part("small", "", entry.c));
    item.append(link);
    return item;
  };
  const close = () => { list.hidden = true; };
  const show = async () => {
    const query = input.value;
    const found = find(await load(), query);
    if (input.value !== query) return; // the query has changed
    list.replaceChildren(...found.slice(0, maxResults).map(line));
    list.hidden = !found.length;
    const resultText = found.length === 1 ? "1 result" : `${found.length || "No"} results`;
    count.textContent = query.trim() ? resultText : "";
  };

  input.addEventListener("focus", load);
  input.addEventListener("input", show);
  form.addEventListener("submit", (event) => {
    const first = list.querySelector("a");
    if (list.hidden || !first) return;
    event.preventDefault();
    first.click();
  });
  form.addEventListener("keydown", (event) => {
    const links = [...list.querySelectorAll("a")];
    const at = links.indexOf(document.activeElement);
    if (event.key === "Escape") {
      close();
      input.focus();
    } else if (event.key === "ArrowDown" && !list.hidden) {
      event.preventDefault();
      links[Math.min(at + 1, links.length - 1)].focus();
    } else if (event.key === "ArrowUp" && at >= 0) {
      event.preventDefault();
      (at ? links[at - 1] : input).focus();
    }
  });
  list.addEventListener("click", (event) => {
    if (event.target.closest("a")) close();
  });
  document.addEventListener("click", (event) => {
    if (!form.contains(event.target)) close();
  });
}
