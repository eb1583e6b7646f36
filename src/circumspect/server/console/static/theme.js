// Before the first paint: the theme that was chosen, else the system's.
try {
  const theme = localStorage.getItem("circumspect-theme");
  if (theme) document.documentElement.dataset.theme = theme;
} catch { /* no storage: the system's theme */ }
