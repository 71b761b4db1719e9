"use strict";
(() => {
  const root = document.documentElement;
  const theme = document.getElementById("theme");
  const find = document.getElementById("find");
  const found = document.getElementById("found");
  const all = document.getElementById("all");
  const stretches = [...document.querySelectorAll(".stretch")];
  const night = matchMedia("(prefers-color-scheme: dark)");

  // Pages opened from disk may be refused a memory of their own.
  const remembered = () => { try { return localStorage.getItem("playhead-theme"); } catch { return null; } };
  const remember = (value) => { try { localStorage.setItem("playhead-theme", value); } catch { /* the choice lasts as long as the page */ } };
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : night.matches);
  const named = () => {
    theme.textContent = isDark() ? "Light" : "Dark";
    theme.setAttribute("aria-label", `Use the ${isDark() ? "light" : "dark"} theme`);
  };
  if (["light", "dark"].includes(remembered())) root.dataset.theme = remembered();
  theme.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    remember(root.dataset.theme);
    named();
  });
  night.addEventListener("change", named);
  named();
  theme.hidden = false;

  const lead = () => {
    const target = document.getElementById(location.hash.slice(1));
    if (!target?.matches(".stretch")) return;
    target.open = true;
    target.querySelector("summary").focus({ preventScroll: true });
    target.scrollIntoView();
  };
  addEventListener("hashchange", lead);
  document.querySelector(".bars").addEventListener("click", (event) => {
    const part = event.target.closest("a.part");
    if (part?.hash === location.hash) lead();
  });
  lead();

  if (!stretches.length) return;
  document.getElementById("tools").hidden = false;
  const label = () => { all.textContent = stretches.every((s) => s.open) ? "Close all" : "Open all"; };
  all.addEventListener("click", () => {
    const open = !stretches.every((s) => s.open);
    for (const stretch of stretches) stretch.open = open;
  });
  for (const stretch of stretches) stretch.addEventListener("toggle", label);
  label();

  let texts = null;
  const filter = () => {
    const wanted = find.value.trim().toLowerCase();
    texts ??= stretches.map((stretch) => {
      const units = [...stretch.querySelectorAll(".unit")].map((unit) => ({ unit, text: unit.textContent.toLowerCase() }));
      const own = [...stretch.querySelectorAll(":scope > summary, :scope > .inside > .message")].map((part) => part.textContent.toLowerCase());
      return { stretch, units, own: own.join("\n"), was: stretch.open };
    });
    let count = 0;
    for (const { stretch, units, own, was } of texts) {
      const isOwn = own.includes(wanted);
      let met = 0;
      for (const { unit, text } of units) {
        const meets = text.includes(wanted);
        unit.hidden = !meets && !isOwn;
        met += meets;
      }
      count += met + (isOwn && !met);
      stretch.hidden = !met && !isOwn;
      stretch.open = wanted ? met > 0 || isOwn : was;
    }
    found.textContent = wanted ? `${count.toLocaleString("en")} found` : "";
    if (!wanted) texts = null;
  };
  let waiting = 0;
  find.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(filter, 120);
  });
})();
