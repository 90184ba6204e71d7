/** Shows a short confirmation.
 *  It must never load the list of them before it is needed. */
export function toast(text: string): void {
  void import('./toasts.tsx').then(
    ({ showToast }) => showToast(text),
    // What it confirms is done, and the page shows it.
    () => {},
  );
}
