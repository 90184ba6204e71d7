// The operator's way to find out whether a call happened whose answer was lost: which tool is asked, and how its answer is read.

/** Variables of the expressions over the answer, with their types. */
export const RECONCILE_VARIABLES = {
  result: 'dyn',
  args: 'dyn',
  idempotency_key: 'string',
  request_id: 'string',
  directive_id: 'string',
} as const;

/** Finding about a call of unknown outcome. `undecided`: an inquiry is open, or cannot be read by this process. */
export type FoundOutcome =
  | { readonly kind: 'happened'; readonly result?: unknown }
  | { readonly kind: 'not_happened' }
  | { readonly kind: 'undecided'; readonly reason: string };

/** Settings of one tool. */
export interface ReconcileSettings {
  /** Tool of the same server that is asked; it must have the repeat policy `read`. */
  readonly tool: string;
  /** Its arguments, in whose texts `{{…}}` are placeholders. */
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly happened: string;
  /** null: whatever does not satisfy `happened`. */
  readonly notHappened: string | null;
  /** null: the answer itself. */
  readonly result: string | null;
  /** Most calls of `tool` for one lost answer. */
  readonly tries: number;
  /** Time before the first one, milliseconds; each further pause is twice as long. */
  readonly firstMs: number;
  /** How long after the loss "not happened" is not believed, milliseconds. */
  readonly settleMs: number;
  /** No call of `tool` begins later than this after the loss, milliseconds. */
  readonly totalMs: number;
}

const PLACEHOLDER = /\{\{([^{}]*)\}\}/g;
const PATH = /^args(?:\.[^.]+)+$/;
const FIXED: ReadonlySet<string> = new Set(['idempotency_key', 'request_id', 'directive_id']);

/** Names of the placeholders in a text, without the spaces around them. */
export function placeholdersIn(text: string): string[] {
  return [...text.matchAll(PLACEHOLDER)].map(([, name = '']) => name.trim());
}

/** Whether a placeholder of this name has a value: `idempotency_key`, `request_id`, `directive_id`, `args.<path>`. */
export function isPlaceholder(name: string): boolean {
  return FIXED.has(name) || PATH.test(name);
}

/**
 * The text with the value of each placeholder. A text that is one placeholder becomes its value, of any type.
 * `valueOf`: undefined where there is none; then the answer is undefined, too.
 */
export function filledText(text: string, valueOf: (name: string) => unknown): unknown {
  const names = placeholdersIn(text);
  const [first] = names;
  if (first === undefined) return text;
  const values = new Map(names.map((name) => [name, valueOf(name)]));
  if ([...values.values()].includes(undefined)) return undefined;
  if (/^\{\{[^{}]*\}\}$/.test(text)) return values.get(first);
  return text.replace(PLACEHOLDER, (_, name: string) => {
    const value = values.get(name.trim());
    return typeof value === 'string' ? value : JSON.stringify(value);
  });
}
