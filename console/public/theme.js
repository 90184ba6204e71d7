/** Sets the theme before the first paint.
 *  It must stay a classic script, and small: the page waits for it. */
(() => {
  try {
    const theme = localStorage.getItem('adjutant.theme');
    if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
  } catch {
    // Without storage the theme is the system's.
  }
})();
