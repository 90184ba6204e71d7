/** Types of `console-freshness.mjs` for the tests.
 *  They must not say more than the file does. */
export function ensureConsole(
  root: string,
  node: string,
  environment: Readonly<Record<string, string | undefined>>,
): void;
