// The canonical result of a directive.
// Must never let a reply of unknown shape pass as a success.
import * as z from 'zod';
import { type ErrorEnvelope, errorEnvelopeSchema } from './error-envelope.ts';

const effectsSchema = z.array(z.unknown());

export const resultSchema = z.discriminatedUnion('ok', [
  z.object({ ok: z.literal(true), payload: z.unknown(), effects: effectsSchema }),
  z.object({ ok: z.literal(false), error: errorEnvelopeSchema, effects: effectsSchema }),
]);

export type Result = z.infer<typeof resultSchema>;

export function okResult(payload: unknown, effects: unknown[] = []): Result {
  return { ok: true, payload: payload ?? null, effects };
}

export function errorResult(error: ErrorEnvelope, effects: unknown[] = []): Result {
  return { ok: false, error, effects };
}
