// Runs before the page is painted, so that a chosen theme does not flash.
try {
  const chosen = localStorage.getItem("native-engine.theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset["theme"] = chosen;
} catch {
  // Without storage the system's theme holds.
}
