// Deduplication: a submission under a key is executed once in a window, once after a quiet time, or one at a time.
// Never reads a clock, nor hashes: the accepting script decides, under a name that the queue makes of the key.
import * as z from 'zod';
import { fieldPath } from '../json/field-path.ts';
import { identifierSchema, instantSchema } from '../identifiers.ts';
import { LONGEST_DELAY_MS } from './later.ts';
import type { FieldError } from '../problem.ts';

const key = z
  .string()
  .regex(/^[^\p{Cc}\p{Cs}\p{Zl}\p{Zp}]{1,256}$/u, '1 to 256 characters, no control characters');

const spanMs = z.int().min(1).max(LONGEST_DELAY_MS);

/** Handling of a submission while another one with the key is open. */
export const WHEN_OPEN = ['refuse', 'join', 'replace'] as const;

/** Schemas of the fields for deduplication, debounce and singletons. */
export const onceFields = {
  dedupe: z
    .strictObject({
      key: key.describe('Deduplication key, 1 to 256 characters without control characters.'),
      window_ms: spanMs.describe('Length of the window in milliseconds, at most one year.'),
    })
    .optional()
    .describe(
      'Deduplication: within the window after an acceptance, a submission with the same key is the same directive, whatever its content. Default: none.',
    ),
  debounce: z
    .strictObject({
      key: key.describe('Debounce key, 1 to 256 characters without control characters.'),
      quiet_ms: spanMs.describe('Quiet interval before the start, in milliseconds, at most one year.'),
      at_most_ms: spanMs
        .optional()
        .describe(
          'Maximum delay after the first submission, in milliseconds, at most one year. Default: no maximum.',
        ),
    })
    .optional()
    .describe('Debounce: starts after a quiet interval, with the last submitted content. Default: none.'),
  singleton: z
    .strictObject({
      key: key.describe('Singleton key, 1 to 256 characters without control characters.'),
      when_open: z
        .enum(WHEN_OPEN)
        .default('refuse')
        .describe(
          'Handling of a submission while another one is open: `refuse`, `join` it, or `replace` it. Default: `refuse`.',
        ),
    })
    .optional()
    .describe('Singleton: at most one directive or run with the key is open at a time. Default: none.'),
};

/** Fields for deduplication, debounce and singletons. */
export type OnceFields = z.output<z.ZodObject<typeof onceFields>>;

/** Kinds of keyed submissions. */
export const ONCE_KINDS = ['dedupe', 'debounce', 'singleton'] as const;

/** Rule that excludes more than one kind of keyed submission. */
export const ONE_ONCE_RULE = {
  path: ['dedupe'],
  message: 'at most one of dedupe, debounce and singleton',
};
/** Rule that excludes a delay beside `debounce`. */
export const DEBOUNCE_RULE = {
  path: ['debounce'],
  message: 'says when it begins: not together with delay_ms or run_at',
};

/** The same rules for readers of the JSON Schema: what must not be there together. */
export const ONCE_EXCLUDED = [
  { required: ['dedupe', 'debounce'] },
  { required: ['dedupe', 'singleton'] },
  { required: ['debounce', 'singleton'] },
  { required: ['debounce', 'delay_ms'] },
  { required: ['debounce', 'run_at'] },
];

/** Whether at most one kind of keyed submission is present. */
export function hasOneOnce(fields: OnceFields): boolean {
  return ONCE_KINDS.filter((kind) => fields[kind] !== undefined).length <= 1;
}

/** Whether `debounce` alone determines the start. */
export function hasOwnBegin(fields: OnceFields & { delay_ms?: unknown; run_at?: unknown }): boolean {
  return fields.debounce === undefined || (fields.delay_ms === undefined && fields.run_at === undefined);
}

/** Keyed submission in its parsed form. */
export type Once =
  | { readonly kind: 'dedupe'; readonly key: string; readonly windowMs: number }
  | { readonly kind: 'debounce'; readonly key: string; readonly quietMs: number; readonly atMostMs: number }
  | {
      readonly kind: 'singleton';
      readonly key: string;
      readonly whenOpen: (typeof WHEN_OPEN)[number];
    };

/** null: it is done each time that it is submitted. */
export function onceOf({ dedupe, debounce, singleton }: OnceFields): Once | null {
  if (dedupe) return { kind: 'dedupe', key: dedupe.key, windowMs: dedupe.window_ms };
  if (singleton) return { kind: 'singleton', key: singleton.key, whenOpen: singleton.when_open };
  if (!debounce) return null;
  const { quiet_ms, at_most_ms = LONGEST_DELAY_MS } = debounce;
  return { kind: 'debounce', key: debounce.key, quietMs: quiet_ms, atMostMs: at_most_ms };
}

/** The field by which it is submitted under a key; undefined: it has none. */
export function onceFieldOf(fields: OnceFields): (typeof ONCE_KINDS)[number] | undefined {
  return ONCE_KINDS.find((kind) => fields[kind] !== undefined);
}

/** Why what is encrypted is not submitted under a key. */
export const ONCE_IN_CLEAR =
  'cannot go with encryption: what is encrypted is bound to its ids, and under a key the service chooses them';

interface Named extends OnceFields {
  readonly request_id?: string | undefined;
}

/**
 * Faults of keyed submissions in a batch: each is a request of its own, under an id of the service. `prefixOf` returns
 * the path of each.
 */
export function onceErrors<D extends object>(
  directives: readonly D[],
  prefixOf: (index: number) => string,
  counts: (directive: D) => boolean,
): FieldError[] {
  return directives.flatMap((directive, index) => {
    const kind = counts(directive) ? onceFieldOf(directive as Named) : undefined;
    if (kind === undefined) return [];
    const at = (name: string): string => fieldPath([name], prefixOf(index));
    if (directives.length > 1) return [{ path: at(kind), message: 'must be submitted alone' }];
    const isNamed = (directive as Named).request_id !== undefined;
    return isNamed
      ? [{ path: at('request_id'), message: `must be absent: with ${kind} the service chooses it` }]
      : [];
  });
}

/** Absent fields, as a redrive submits it. */
export function withoutOnce<T extends OnceFields>(fields: T): Omit<T, keyof OnceFields> {
  const { dedupe: _dedupe, debounce: _debounce, singleton: _singleton, ...others } = fields;
  return others;
}

/** Outcomes of a keyed submission. */
export const ONCE_OUTCOMES = ['began', 'deduplicated', 'debounced', 'joined', 'replaced'] as const;

/** Schema of the outcome of a keyed submission. */
export const onceAnswerSchema = z.object({
  outcome: z
    .enum(ONCE_OUTCOMES)
    .describe(
      'Outcome of the submission. `began`: first of its key. `deduplicated`: same as the first one of the window. `debounced`: replaced the content of an earlier one. `joined`: same as the open one. `replaced`: begins once the cancelled one has ended.',
    ),
  until: instantSchema.describe(
    'End of the window (UTC); for `debounce` the start without further submissions, for `singleton` the deadline of the open one.',
  ),
  replaces: z
    .object({
      request_id: identifierSchema.describe('Id of the request of the cancelled directive.'),
      id: identifierSchema.describe('Id of the cancelled directive.'),
    })
    .optional()
    .describe('Directive that was cancelled in favour of this one.'),
});

/** Outcome of a keyed submission. */
export type OnceAnswer = z.infer<typeof onceAnswerSchema>;
