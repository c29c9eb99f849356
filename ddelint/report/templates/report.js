"use strict";
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const cards = all(".card");
  const byNumber = new Map(cards.map((card) => [card.dataset.number, card]));
  const rows = all("#list tbody tr");
  const boxes = all("nav input[type=checkbox]");
  const search = document.getElementById("search");
  const text = new Map(cards.map((card) => [card, card.textContent.toLowerCase()]));
  let only = "";
  const wanted = (name) => new Set(boxes.filter((box) => box.name === name && box.checked).map((box) => box.value));

  function filter() {
    const filters = ["severity", "rule", "file", "state"].map((name) => [name, wanted(name)]);
    const words = search.value.toLowerCase().split(/\s+/);
    const shown = new Set();
    for (const card of cards) {
      const kept = filters.every(([name, values]) => values.has(card.dataset[name]));
      const said = words.every((word) => text.get(card).includes(word));
      card.hidden = only ? card.id !== only : !(kept && said);
      if (!card.hidden) shown.add(card.dataset.number);
    }
    for (const row of rows) row.hidden = !shown.has(row.dataset.number);
    for (const mark of all("[data-findings]")) {
      mark.classList.toggle("dimmed", !mark.dataset.findings.split(" ").some((number) => shown.has(number)));
    }
    for (const section of all("section.file")) {
      section.hidden = all(".card", section).every((card) => card.hidden);
    }
    document.getElementById("shown").textContent = `${shown.size} of ${cards.length} shown`;
  }

  function show(card) {
    for (let at = card; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
    card.scrollIntoView({ block: "center" });
  }

  function light(number, on) {
    for (const mark of all(`[data-findings~="${number}"]`)) mark.classList.toggle("lit", on);
  }

  function follow() {
    const hash = decodeURIComponent(location.hash.slice(1));
    const alone = hash.startsWith("only=") ? hash.slice("only=".length) : "";
    const target = document.getElementById(alone || hash);
    if (!target) return;
    if (alone) only = alone;
    else if (target.hidden) reset(true);
    filter();
    show(target);
  }

  let current = -1;
  function step(by) {
    const visible = cards.filter((card) => !card.hidden);
    if (!visible.length) return;
    current = (Math.max(current, by < 0 ? 0 : -1) + by + visible.length) % visible.length;
    show(visible[current]);
    visible[current].querySelector("summary").focus({ preventScroll: true });
  }

  function reset(checked) {
    forget();
    search.value = "";
    for (const box of boxes) box.checked = checked;
  }

  function forget() {
    only = "";
    const [page, hash] = location.href.split("#");
    if (hash?.startsWith("only=")) history.replaceState(null, "", page);
  }

  const narrowed = () => { forget(); filter(); };
  for (const box of boxes) box.addEventListener("change", narrowed);
  search.addEventListener("input", narrowed);
  const set = (checked) => { reset(checked); filter(); };
  const open = (is) => { for (const card of cards) card.open = is; };
  const clicks = {
    all: () => set(true),
    none: () => set(false),
    open: () => open(true),
    close: () => open(false),
  };
  for (const [id, act] of Object.entries(clicks)) document.getElementById(id).addEventListener("click", act);
  for (const mark of all("[data-findings]")) {
    mark.addEventListener("click", () => {
      const card = mark.dataset.findings.split(" ").map((n) => byNumber.get(n)).find((c) => c && !c.hidden);
      if (card) show(card);
    });
  }
  for (const card of cards) {
    card.addEventListener("mouseenter", () => light(card.dataset.number, true));
    card.addEventListener("mouseleave", () => light(card.dataset.number, false));
  }
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.tagName === "INPUT") return;
    if (event.key === "/") {
      event.preventDefault();
      search.focus();
    }
    if (event.key === "n") step(1);
    if (event.key === "p") step(-1);
  });

  const themes = ["system", "light", "dark"];
  const button = document.getElementById("theme");
  const remembered = () => { try { return localStorage.getItem("ddelint-theme"); } catch { return null; } };
  function paint(theme) {
    document.documentElement.style.colorScheme = theme === "system" ? "" : theme;
    button.textContent = `theme: ${theme}`;
    button.dataset.theme = theme;
  }
  paint(themes.includes(remembered()) ? remembered() : "system");
  button.addEventListener("click", () => {
    const next = themes[(themes.indexOf(button.dataset.theme) + 1) % themes.length];
    paint(next);
    try { localStorage.setItem("ddelint-theme", next); } catch { /* a file may have no storage */ }
  });

  addEventListener("hashchange", follow);
  filter();
  if (location.hash) follow();
  else if (cards.length) cards[0].open = true;
})();
