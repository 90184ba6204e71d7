// Settings of an operator for the calls of single tools: whether they may be repeated, and how a lost answer is found out.
// Must never accept an expression that does not compile, nor a placeholder without a value.
import * as z from 'zod';
import { repeatPolicySchema } from '../contract/directive/work-directive.ts';
import { positiveDurationMsSchema } from '../contract/identifiers.ts';
import { isObject } from '../contract/json/json-object.ts';
import {
  isPlaceholder,
  placeholdersIn,
  RECONCILE_VARIABLES,
  type ReconcileSettings,
} from '../contract/tool/reconcile.ts';
import { createCompiler } from '../platform/expression/expression.ts';
import { expressionsOf } from './expression.ts';
import { notes } from './notes.ts';

const expression = expressionsOf(createCompiler(RECONCILE_VARIABLES));

/** Texts within a value, in the order in which they are written. */
function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (Array.isArray(value)) return (value as unknown[]).flatMap(textsIn);
  return isObject(value) ? Object.values(value).flatMap(textsIn) : [];
}

// A file holds JSON already; z.json() would put a definition of its own into the published schema.
const argumentsSchema = z.record(z.string(), z.unknown()).superRefine((given, context) => {
  const unknown = textsIn(given)
    .flatMap(placeholdersIn)
    .find((name) => !isPlaceholder(name));
  if (unknown !== undefined)
    context.addIssue({
      code: 'custom',
      message: `has no value for {{${unknown}}}: there are idempotency_key, request_id, directive_id and args.<name>`,
    });
});

const reconcileSchema = z
  .strictObject({
    tool: z.string().min(1).max(256).register(notes, {
      description:
        'Tool of the same server that tells whether a call happened. Its repeat policy must be `read`.',
      fallback: 'required',
    }),
    arguments: argumentsSchema.default({}).register(notes, {
      description:
        'Arguments of that tool. `{{idempotency_key}}`, `{{request_id}}`, `{{directive_id}}` and `{{args.<name>}}` in texts are those of the lost call.',
    }),
    happened: expression('bool').register(notes, {
      description:
        'A [CEL expression](reconcile.md), true: the call happened. It reads `result`, `args`, `idempotency_key`, `request_id`, `directive_id`.',
      fallback: 'required',
    }),
    not_happened: expression('bool').optional().register(notes, {
      description:
        'The same, true: the call did not happen. Where neither is true, the answer tells nothing.',
      fallback: 'whatever does not satisfy `happened`',
    }),
    result: expression('any').optional().register(notes, {
      description: 'An expression: the result of a call that happened.',
      fallback: 'the answer of the tool',
    }),
    tries: z.int().min(1).max(20).default(5).register(notes, {
      description: 'Most calls of the tool after one lost answer, over all workers.',
      unit: 'calls',
    }),
    first_ms: z.int().min(100).max(60_000).default(1_000).register(notes, {
      description: 'Time from the loss to the first of them; each further pause is twice as long.',
      unit: 'ms',
    }),
    settle_ms: z.int().min(0).max(3_600_000).default(30_000).register(notes, {
      description:
        'How long after the loss "did not happen" is not believed: the call may still be under way.',
      unit: 'ms',
    }),
    total_ms: positiveDurationMsSchema.default(60_000).register(notes, {
      description:
        'No call of the tool is planned for later than this after the loss. One that is due is made, however late a worker is.',
      unit: 'ms',
    }),
  })
  .refine(({ settle_ms, total_ms }) => settle_ms <= total_ms, {
    path: ['settle_ms'],
    message: 'must be at most total_ms',
  });

const describedSchema = z
  .strictObject({
    repeat: repeatPolicySchema.register(notes, { description: 'The repeat policy.', fallback: 'required' }),
    reconcile: reconcileSchema.optional().register(notes, {
      description: '[How a lost answer is found](reconcile.md). Only with `once`.',
      fallback: 'a lost answer is `outcome_unknown`',
    }),
  })
  .refine(({ repeat, reconcile }) => repeat === 'once' || reconcile === undefined, {
    path: ['reconcile'],
    message: 'goes only with the repeat policy "once": other calls are repeated',
  });

/** Entry of `effects`. */
export const effectSchema = z
  .union([repeatPolicySchema.transform((repeat) => ({ repeat })), describedSchema])
  .transform(({ repeat, ...more }) => ({
    repeat,
    reconcile: 'reconcile' in more && more.reconcile !== undefined ? settingsOf(more.reconcile) : null,
  }));

function settingsOf(given: z.output<typeof reconcileSchema>): ReconcileSettings {
  return {
    tool: given.tool,
    arguments: given.arguments,
    happened: given.happened,
    notHappened: given.not_happened ?? null,
    result: given.result ?? null,
    tries: given.tries,
    firstMs: given.first_ms,
    settleMs: given.settle_ms,
    totalMs: given.total_ms,
  };
}
