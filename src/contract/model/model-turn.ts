// The answer of a model: the payload of a successful `ai.llm.response`. A turn is always complete.
import * as z from 'zod';
import { FINISH_REASONS } from './finish-reason.ts';
import { type AssistantMessage, assistantPartSchema, toolCallSchema } from './message.ts';
import { usageSchema } from './usage.ts';

const durationMsSchema = z.number().min(0);

/** Schema of the answer of a model. */
export const modelTurnSchema = z.object({
  type: z
    .enum(['tool_calls', 'final_answer'])
    .describe(
      'Kind of the answer. `tool_calls`: the model waits for the results of its calls. `final_answer`: the model is done.',
    ),
  text: z.string().describe('All text of the answer; empty where the answer has none.'),
  thinking: z
    .string()
    .describe('Reasoning of the model as far as the provider reveals it; empty where it reveals none.'),
  tool_calls: z.array(toolCallSchema).describe('Tool calls of the answer.'),
  content_parts: z
    .array(assistantPartSchema)
    .optional()
    .describe(
      'Parts of the answer in their order. Present only where the answer holds more than text (reasoning, files), where the provider requires its own data back, or where a part follows a tool call; calls have their place among the parts in the last case only.',
    ),
  usage: usageSchema.nullable().describe('Token usage; null: the provider reported none.'),
  model: z.string().describe('Name of the model as the provider reports it, otherwise as requested.'),
  finish_reason: z.enum(FINISH_REASONS).nullable().describe('Reason why the model stopped; null: unknown.'),
  duration_ms: durationMsSchema.describe('Time from the request to the end of the answer, in milliseconds.'),
  first_chunk_ms: durationMsSchema
    .nullable()
    .describe(
      'Time from the request to the first chunk of the answer, in milliseconds; null: the answer was not streamed.',
    ),
  output: z
    .unknown()
    .optional()
    .describe(
      'Answer as a value of `output_schema`. Present only where one was given and no tool was called.',
    ),
  scripted: z
    .literal(true)
    .optional()
    .describe('Present where the provider plays a script: no model was called.'),
});

/** Answer of a model. */
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
