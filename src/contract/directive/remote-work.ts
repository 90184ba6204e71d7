// Work of remote directive types: how a program outside the service takes it, holds it and ends it.
// Must never let a program end work that it does not hold.
import * as z from 'zod';
import { identifierSchema, jsonObjectSchema } from '../identifiers.ts';
import { resultSchema } from '../result.ts';
import { customTypeSchema } from './custom-directive.ts';
import { repeatPolicySchema } from './work-directive.ts';

const MOST_TYPES = 64;

const heldFields = {
  type: customTypeSchema.describe('Type of the directive.'),
  work_id: identifierSchema.describe('Id of the work. Another attempt of the directive is other work.'),
  token: identifierSchema.describe('Token of the taker: the current one alone holds and ends the work.'),
};

/** Schema of the body that takes work. */
export const takeWorkBodySchema = z.strictObject({
  types: z
    .array(customTypeSchema)
    .min(1)
    .max(MOST_TYPES)
    .describe('Types that the program executes, 1 to 64; the first one that has work is served.'),
});

/** Schema of the answer to a take. */
export const takenWorkSchema = z.object({
  work: z
    .object({
      ...heldFields,
      lease_ms: z
        .int()
        .describe(
          'Time until the program counts as dead unless it holds the work again, in milliseconds. The first hold is due within 10 s.',
        ),
      directive: jsonObjectSchema.describe('Directive as accepted.'),
      tenant: z.string().describe('Tenant of the request.'),
      effect: repeatPolicySchema.describe('Whether the work may be repeated after a program died.'),
      attempt: z.int().describe('Number of the attempt, from 1.'),
      idempotency_key: z.string().describe('The same for every attempt of the directive.'),
      remaining_ms: z.int().describe('Time until the deadline, in milliseconds.'),
      traceparent: z.string().describe('W3C trace context of the attempt.'),
      tool_context: jsonObjectSchema.describe("In a run: the agent's `tool_context` and `state`; else {}."),
    })
    .nullable()
    .describe('Work that the program now has; null: none came in time.'),
});

/** Schema of the body that begins work or renews its lease. */
export const holdWorkBodySchema = z.strictObject(heldFields);

/** Schema of the answer to a hold. */
export const heldWorkSchema = z.object({
  state: z
    .enum(['held', 'cancelled', 'lost'])
    .describe(
      '`held`: the program has the work until its lease ends. `cancelled`: the directive has ended: stop. `lost`: the lease had ended: stop.',
    ),
});

/** Schema of the body that ends work. */
export const endWorkBodySchema = z.strictObject({
  ...heldFields,
  result: resultSchema.describe('Result or error of the work.'),
  ambiguous: z
    .boolean()
    .default(false)
    .describe('The work failed and may have had its effect: `once` work is not tried again. Default: false.'),
});

/** Schema of the answer to an end. */
export const endedWorkSchema = z.object({
  state: z
    .enum(['recorded', 'cancelled', 'lost'])
    .describe(
      '`recorded`: the end is stored; the same end again is the same. `cancelled`, `lost`: it has no effect.',
    ),
});

/** Work that a program has taken. */
export type TakenWork = NonNullable<z.infer<typeof takenWorkSchema>['work']>;
/** End of work, as it is written. */
export type EndWorkBody = z.output<typeof endWorkBodySchema>;
