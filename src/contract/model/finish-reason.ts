// Why a model stopped, in one vocabulary for all providers.
// Must never turn an unknown reason into a normal end.

/** Reasons why a model stopped. */
export const FINISH_REASONS = [
  'stop',
  'tool_calls',
  'length',
  'content_filter',
  'error',
  'cancelled',
  'incomplete',
  'unknown',
] as const;

/** Reason why a model stopped. */
export type FinishReason = (typeof FINISH_REASONS)[number];

const SPELLINGS: ReadonlyMap<string, FinishReason> = new Map<string, FinishReason>([
  ...FINISH_REASONS.map((reason) => [reason, reason] as const),
  ['completed', 'stop'],
  ['end_turn', 'stop'],
  ['tool_use', 'tool_calls'],
  ['max_tokens', 'length'],
  ['max_output_tokens', 'length'],
]);

/** Null when the provider gave no reason at all. */
export function normalizeFinishReason(raw: unknown): FinishReason | null {
  if (raw === null || raw === undefined) return null;
  return typeof raw === 'string' ? (SPELLINGS.get(raw) ?? 'unknown') : 'unknown';
}
