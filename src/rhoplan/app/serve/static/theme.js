// Sets the colours before anything is drawn: what was chosen here, or what the system prefers. No module: those run later.

(() => {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const kept = () => {
    try { return localStorage.getItem("rhoplan theme"); } catch { return null; }
  };
  const set = () => { document.documentElement.dataset.theme = kept() ?? (system.matches ? "dark" : "light"); };
  system.addEventListener("change", set);
  set();
})();
