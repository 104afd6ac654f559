// Payloads: makes a body foldable and searchable, and copies the path of a value. Only visible lines are in the page.
{
  const tools = document.getElementById("payload-tools");
  const words = tools?.dataset;
  const maxBytes = 8 << 20; // of a body that is loaded
  const maxLines = 500000;
  const maxWidth = 500; // characters of a value
  const lineHeight = 20; // pixels, as in payload.css
  const token = /\s*(?:("[^"\\]*(?:\\[^][^"\\]*)*"?)|([{}[\],:])|([^\s{}[\],:"]+))/y;

  const literal = /^(-?\d[\d.eE+-]*|true|false|null)$/;

  // Splits JSON into lines with one value each. The end of the text may be missing. Returns null for other text.
  const jsonLines = (clipped) => {
    const text = clipped.replace(/\n…$/, "");
    if (!/^\s*[{[]/.test(text)) return null;
    const lines = [];
    const open = []; // lines whose brackets are open
    let key = null;
    let position = 0;
    let match;
    token.lastIndex = 0;
    while (lines.length < maxLines && (match = token.exec(text))) {
      const [, string, mark, word] = match;
      position = token.lastIndex;
      const parent = open.at(-1) ?? -1;
      const inObject = parent >= 0 && lines[parent].text === "{";
      if (mark === "," || mark === ":") {
        if (mark === ",") lines.at(-1).comma = true;
      } else if (mark === "}" || mark === "]") {
        if (parent < 0) return null;
        open.pop();
        if (parent === lines.length - 1) {
          lines[parent].text += mark; // an empty object or array
        } else {
          lines.push({ depth: open.length, text: mark, parent, closes: true });
          lines[parent].end = lines.length - 1;
        }
      } else if (string && inObject && key === null) {
        key = string;
      } else {
        if (word && !literal.test(word) && token.lastIndex < text.length) return null;
        const step = parent < 0 ? null : inObject ? key : lines[parent].count;
        if (parent >= 0) lines[parent].count++;
        lines.push({ depth: open.length, key, step, text: mark ?? string ?? word, parent, count: 0 });
        if (mark) open.push(lines.length - 1);
        key = null;
      }
    }
    if (lines.length < maxLines && text.slice(position).trim()) return null;
    if (text !== clipped || open.length) lines.push({ depth: 0, text: "…", parent: 0, closes: true });
    for (const start of open) lines[start].end = lines.length - 1;
    return lines;
  };
  const plainLines = (text) =>
    text.split("\n", maxLines).map((line) => ({ depth: 0, text: line, parent: -1, plain: true }));
  const isJSON = (text) => {
    try {
      JSON.parse(text);
      return true;
    } catch {
      return false;
    }
  };

  // Returns a span with marks on each occurrence of a query. A long text is clipped around the first.
  const marked = (text, className, query) => {
    const span = document.createElement("span");
    span.className = className;
    const lower = text.toLowerCase();
    let at = query ? lower.indexOf(query) : -1;
    let from = Math.max(0, at > maxWidth - query.length ? at - 80 : 0);
    const end = Math.min(text.length, from + maxWidth);
    if (from) span.append("…");
    for (; at >= 0 && at < end; at = lower.indexOf(query, from)) {
      const mark = document.createElement("mark");
      mark.textContent = text.slice(at, at + query.length);
      span.append(text.slice(from, at), mark);
      from = at + query.length;
    }
    span.append(text.slice(from, Math.max(end, from)));
    if (end < text.length) span.append("…");
    return span;
  };

  const mark = "payload-mark";
  const kinds = { '"': "payload-string", "{": mark, "[": mark, "}": mark, "]": mark };

  class Payload {
    constructor(figure) {
      this.figure = figure;
      figure.append(tools.content.cloneNode(true));
      figure.classList.add("payload-ready");
      figure.setAttribute("hx-morph-skip", ""); // updates keep an unchanged body, which its id names
      for (const name of ["query", "count", "previous", "next", "fold", "all", "box", "tree", "path", "copy-path",
        "copy-value"]) {
        this[name] = figure.querySelector(".payload-" + name);
      }
      this.tree.id = figure.id + "-lines";
      const whole = figure.dataset.whole && Number(figure.dataset.bytes) <= maxBytes;
      this.all.hidden = !whole;
      this.listen();
      this.show(figure.querySelector("pre code").textContent);
    }

    listen() {
      this.query.addEventListener("input", () => this.find());
      this.query.addEventListener("focus", () => this.load());
      this.query.addEventListener("keydown", (event) => {
        if (event.key === "Enter") this.step(event.shiftKey ? -1 : 1);
      });
      this.previous.addEventListener("click", () => this.step(-1));
      this.next.addEventListener("click", () => this.step(1));
      this.fold.addEventListener("click", () => this.foldAll());
      this.all.addEventListener("click", () => this.load());
      this.box.addEventListener("scroll", () => this.draw());
      new ResizeObserver(() => this.draw()).observe(this.box);
      this.tree.addEventListener("click", (event) => {
        const line = event.target.closest("[data-line]");
        if (!line) return;
        this.select(Number(line.dataset.line));
        if (event.target.closest(".payload-toggle")) this.toggle();
      });
      this.tree.addEventListener("keydown", (event) => this.press(event));
      this["copy-path"].addEventListener("click", (event) => {
        copyText(event.target, this.pathOf(this.active), this.path.querySelector("code"));
      });
      this["copy-value"].addEventListener("click", (event) => {
        copyText(event.target, this.valueOf(this.active), this.path.querySelector("code"));
      });
    }

    show(text) {
      this.lines = jsonLines(text) ?? plainLines(text);
      this.folded = new Set();
      this.active = 0;
      this.matches = [];
      const json = !this.lines[0].plain;
      this.path.hidden = !json;
      this.fold.hidden = !this.lines.some((line) => this.canFold(line));
      this.layout();
      this.find();
    }

    // Loads the whole body, once.
    load() {
      if (this.all.hidden) return;
      this.all.hidden = true;
      this.count.textContent = words.loading;
      fetch(this.figure.dataset.whole).then((response) => {
        if (!response.ok) throw new Error(response.status);
        return response.text();
      }).then((text) => {
        this.figure.wholeBody = text; // for the copy button
        this.figure.querySelector("figcaption").firstChild.textContent = this.figure.dataset.label;
        this.count.textContent = "";
        this.show(text);
      }).catch(() => {
        this.all.hidden = false;
        this.count.textContent = words.failed;
      });
    }

    // Computes the lines that are not folded away.
    layout() {
      this.visible = [];
      for (let i = 0; i < this.lines.length; i++) {
        this.visible.push(i);
        if (this.folded.has(i)) i = this.lines[i].end;
      }
      this.fold.textContent = this.folded.size ? words.unfold : words.fold;
      this.tree.style.height = this.visible.length * lineHeight + "px";
      this.drawn = null;
      this.draw();
    }

    // Renders the lines in view.
    draw() {
      const first = Math.max(0, Math.floor(this.box.scrollTop / lineHeight) - 10);
      const last = Math.min(this.visible.length, first + Math.ceil(this.box.clientHeight / lineHeight) + 20);
      if (this.drawn === `${first} ${last}`) return;
      this.drawn = `${first} ${last}`;
      this.tree.style.paddingTop = first * lineHeight + "px";
      this.tree.replaceChildren(...this.visible.slice(first, last).map((i) => this.element(i)));
      const active = this.tree.querySelector("[aria-selected=true]");
      if (active) this.tree.setAttribute("aria-activedescendant", active.id);
      else this.tree.removeAttribute("aria-activedescendant");
      this.path.querySelector("code").textContent = this.pathOf(this.active);
    }

    element(i) {
      const line = this.lines[i];
      const row = document.createElement("div");
      const query = this.matches.length ? this.query.value.toLowerCase() : "";
      row.className = "payload-line";
      row.dataset.line = i;
      row.id = `${this.tree.id}-${i}`;
      row.style.paddingLeft = line.depth * 2 + 2 + "ch";
      if (line.closes) {
        row.setAttribute("role", "none");
      } else {
        row.setAttribute("role", "treeitem");
        row.setAttribute("aria-level", line.depth + 1);
        row.setAttribute("aria-selected", i === this.active);
      }
      const opens = line.end !== undefined;
      const folded = this.folded.has(i);
      if (opens) {
        row.setAttribute("aria-expanded", !folded);
        const toggle = document.createElement("span");
        toggle.className = "payload-toggle";
        toggle.style.left = line.depth * 2 + "ch";
        row.append(toggle);
      }
      if (line.key) row.append(marked(line.key, "payload-key", query), ": ");
      const kind = line.plain ? "payload-string" : kinds[line.text[0]] ?? "payload-word";
      row.append(marked(line.text, kind, query));
      if (folded) row.append(` … ${line.count} ${line.text === "{" ? "}" : "]"}`);
      if (folded ? this.lines[line.end].comma : line.comma) row.append(",");
      return row;
    }

    select(i) {
      this.tree.classList.add("payload-used");
      this.active = this.lines[i].closes ? this.lines[i].parent : i;
      this.drawn = null;
      this.draw();
    }

    // Selects a line, unfolds what contains it, and scrolls to it.
    reveal(i) {
      const size = this.folded.size;
      for (let p = this.lines[i].parent; p >= 0; p = this.lines[p].parent) this.folded.delete(p);
      if (size !== this.folded.size) this.layout();
      const top = this.visible.indexOf(i) * lineHeight;
      if (top < this.box.scrollTop || top + 2 * lineHeight > this.box.scrollTop + this.box.clientHeight) {
        this.box.scrollTop = top - this.box.clientHeight / 2;
      }
      this.select(i);
      const mark = this.tree.querySelector("[aria-selected=true] mark");
      if (!mark) return;
      const { left, right } = mark.getBoundingClientRect();
      const frame = this.box.getBoundingClientRect();
      if (left < frame.left || right > frame.right) this.box.scrollLeft += left - frame.left - frame.width / 2;
    }

    toggle(open = this.folded.has(this.active)) {
      if (this.lines[this.active].end === undefined) return;
      if (open) this.folded.delete(this.active);
      else this.folded.add(this.active);
      this.layout();
    }

    // Reports whether "fold all" folds a line: it opens an object or array below the top.
    canFold(line) {
      return line.end !== undefined && line.depth > 0;
    }

    foldAll() {
      const fold = !this.folded.size;
      this.folded.clear();
      if (fold) {
        this.lines.forEach((line, i) => { if (this.canFold(line)) this.folded.add(i); });
      }
      this.active = 0;
      this.box.scrollTop = 0;
      this.layout();
    }

    press(event) {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const at = this.visible.indexOf(this.active);
      const line = this.lines[this.active];
      const page = Math.floor(this.box.clientHeight / lineHeight) - 1;
      const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
      const move = moves[event.key];
      if (move) {
        const closes = (n) => this.lines[this.visible[n]].closes;
        let to = Math.min(this.visible.length - 1, Math.max(0, at + move));
        while (to < this.visible.length - 1 && move > 0 && closes(to)) to++;
        while (closes(to)) to--;
        this.reveal(this.visible[to]);
      } else if (event.key === "ArrowRight") {
        if (this.folded.has(this.active)) this.toggle(true);
      } else if (event.key === "ArrowLeft") {
        if (line.end !== undefined && !this.folded.has(this.active)) this.toggle(false);
        else if (line.parent >= 0) this.reveal(line.parent);
      } else if (event.key === "Enter" || event.key === " ") {
        this.toggle();
      } else {
        return;
      }
      event.preventDefault();
      event.stopPropagation();
    }

    find() {
      const query = this.query.value.toLowerCase();
      this.matches = [];
      if (query) {
        this.lines.forEach((line, i) => {
          if (line.closes) return;
          if (line.key?.toLowerCase().includes(query) || line.text.toLowerCase().includes(query)) this.matches.push(i);
        });
      }
      this.previous.disabled = this.next.disabled = !this.matches.length;
      this.at = -1;
      this.drawn = null;
      if (this.matches.length) {
        this.step(1);
      } else {
        this.draw();
        this.count.textContent = query ? words.none : "";
      }
    }

    // Goes to the next match, or to the one before.
    step(by) {
      const n = this.matches.length;
      if (!n) return;
      this.at = (this.at + by + n) % n;
      this.count.textContent = words.at.replace("%d", this.at + 1).replace("%d", n);
      this.reveal(this.matches[this.at]);
    }

    // Returns the path of a value (RFC 9535), such as $.items[3].price.
    pathOf(i) {
      const steps = [];
      for (let line = this.lines[i]; line.parent >= 0; line = this.lines[line.parent]) {
        if (typeof line.step === "number") {
          steps.unshift(`[${line.step}]`);
        } else {
          const name = isJSON(line.step) ? JSON.parse(line.step) : line.step;
          steps.unshift(/^[A-Za-z_]\w*$/.test(name) ? "." + name : `[${JSON.stringify(name)}]`);
        }
      }
      return "$" + steps.join("");
    }

    valueOf(i) {
      const { text, end, depth } = this.lines[i];
      if (end === undefined) return text[0] === '"' && isJSON(text) ? JSON.parse(text) : text;
      return this.lines.slice(i, end + 1).map((line, n) => {
        const key = n && line.key ? line.key + ": " : "";
        return "  ".repeat(line.depth - depth) + key + line.text + (line.comma && i + n < end ? "," : "");
      }).join("\n");
    }
  }

  // A short text that is not JSON stays as it is.
  const upgrade = () => {
    if (!tools) return;
    for (const figure of document.querySelectorAll("figure.payload:not(.payload-ready)")) {
      const text = figure.querySelector("pre code").textContent;
      if (text.length > 2000 || jsonLines(text)) new Payload(figure);
    }
  };
  upgrade();
  document.addEventListener("htmx:after:swap", upgrade);
}
