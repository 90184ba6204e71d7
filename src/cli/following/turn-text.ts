/** A model's turn for a person: its text or value, and a line about its model.
 *  It must never take a preview for the whole. */
import { type ModelTurn, modelTurnSchema } from '../../contract/model/model-turn.ts';
import type { Usage } from '../../contract/model/usage.ts';

/** null: not a turn, or only a preview of one. */
export function turnIn(payload: unknown): ModelTurn | null {
  const parsed = modelTurnSchema.safeParse(payload);
  return parsed.success ? parsed.data : null;
}

/** The text; for a call with a schema its value, as JSON. */
export function answerText(turn: ModelTurn): string {
  return 'output' in turn && turn.output !== undefined ? JSON.stringify(turn.output, null, 2) : turn.text;
}

/** Provider and model, tokens, duration; and whether it was scripted. */
export function turnLine(turn: ModelTurn, provider: unknown): string {
  const parts = [
    modelText(turn, provider),
    ...(turn.usage === null ? [] : [tokensText(turn.usage)]),
    `${(turn.duration_ms / 1_000).toFixed(1)} s`,
    ...(turn.finish_reason === null || turn.finish_reason === 'stop' ? [] : [turn.finish_reason]),
    ...(turn.scripted === true ? ['scripted: no model was asked'] : []),
  ];
  return parts.join(' · ');
}

/** `provider`: from the answer's metadata, since providers name their models without it. */
export function modelText({ model, scripted }: ModelTurn, provider: unknown): string {
  const isNamed = typeof provider !== 'string' || scripted === true || model.startsWith(`${provider}:`);
  return isNamed ? model : `${provider}:${model}`;
}

type Tokens = Pick<Usage, 'input_tokens' | 'output_tokens'>;

export function tokensText({ input_tokens: read, output_tokens: written }: Tokens): string {
  return `${read} → ${written} tokens`;
}
