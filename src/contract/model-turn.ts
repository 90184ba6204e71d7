// What a model answered: the payload of a successful `ai.llm.response`.
// Must never hold half an answer: a turn is always complete.
import * as z from 'zod';
import { FINISH_REASONS } from './finish-reason.ts';
import { type AssistantMessage, assistantPartSchema, toolCallSchema } from './message.ts';
import { usageSchema } from './usage.ts';

const durationMsSchema = z.number().min(0);

export const modelTurnSchema = z.object({
  /** `tool_calls`: the model waits for their results. */
  type: z.enum(['tool_calls', 'final_answer']),
  /** All text of the answer; '' when there is none. */
  text: z.string(),
  /** The model's reasoning, as far as it shows it; '' when there is none. */
  thinking: z.string(),
  tool_calls: z.array(toolCallSchema),
  /**
   * The parts of the answer in their order. Present only when it holds more than text (reasoning, files), when the
   * provider wants its own data back, or when a part follows a tool call; only then calls have their place among the parts.
   */
  content_parts: z.array(assistantPartSchema).optional(),
  /** null: the provider reported none. */
  usage: usageSchema.nullable(),
  /** The model's name as the provider reports it, else as requested. */
  model: z.string(),
  finish_reason: z.enum(FINISH_REASONS).nullable(),
  /** From the request to the end of the answer. */
  duration_ms: durationMsSchema,
  /** From the request to the first piece of the answer; null: it came in one piece. */
  first_chunk_ms: durationMsSchema.nullable(),
  /** The answer as a value of `output_schema`; only when one was given and no tool was called. */
  output: z.unknown().optional(),
  /** The provider plays a script: no model was called. */
  scripted: z.literal(true).optional(),
});

export type ModelTurn = z.infer<typeof modelTurnSchema>;

/** The turn as a message in the history of the next call. */
export function assistantMessage(
  turn: Pick<ModelTurn, 'text' | 'tool_calls' | 'content_parts'>,
): AssistantMessage {
  const content = turn.content_parts ?? turn.text;
  return {
    role: 'assistant',
    content,
    ...(turn.tool_calls.length > 0 ? { tool_calls: turn.tool_calls } : {}),
  };
}
