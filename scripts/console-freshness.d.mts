/** Types of `console-freshness.mjs` for the tests. */
type Ensure = (root: string, node: string, environment: Readonly<Record<string, string | undefined>>) => void;

export const ensureConsole: Ensure;
export const ensureDocs: Ensure;
