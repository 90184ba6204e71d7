// Signals of tool calls.
// Must never carry a secret: the writer redacts the arguments.
import * as z from 'zod';
import { instantSchema, toolNameSchema } from './identifiers.ts';
import { resultSchema } from './result.ts';
import { metadataSchema, signalType } from './signal-envelope.ts';
import { inputActionSchema, inputCauseSchema, openInputSchema } from './tool-question.ts';

const callFields = { call_id: z.string().min(1), tool_name: toolNameSchema };

export const toolStarted = signalType('ai.tool.started', '/ai/tool', {
  ...callFields,
  arguments: z.unknown().optional(),
  metadata: metadataSchema,
});

export const toolProgress = signalType('ai.tool.progress', '/ai/tool', {
  ...callFields,
  progress: z.number(),
  total: z.number().optional(),
  message: z.string().optional(),
  metadata: metadataSchema,
});

export const toolApprovalRequested = signalType('ai.tool.approval_requested', '/ai/tool', {
  ...callFields,
  arguments: z.unknown().optional(),
  reason: z.string().optional(),
  /** A call without a decision by then is denied. */
  deadline_at: instantSchema.optional(),
  metadata: metadataSchema,
});

/** The tool asks a person: it waits, as a call that needs approval does. */
export const toolInputRequested = signalType('ai.tool.input_requested', '/ai/tool', {
  ...callFields,
  ...openInputSchema.shape,
  metadata: metadataSchema,
});

/** A question is over. What was answered is not in the log: it goes to the tool alone. */
export const toolInputAnswered = signalType('ai.tool.input_answered', '/ai/tool', {
  ...callFields,
  input_id: z.string().min(1).max(256),
  action: inputActionSchema,
  cause: inputCauseSchema,
  /** Who answered, as the caller said. */
  by: z.string().optional(),
  metadata: metadataSchema,
});

export const toolResult = signalType('ai.tool.result', '/ai/tool', {
  ...callFields,
  result: resultSchema,
  content: z.string().optional(),
  metadata: metadataSchema,
});
