// Signals of tool calls.
// Must never carry a secret: the writer redacts the arguments.
import * as z from 'zod';
import { instantSchema, toolNameSchema } from './identifiers.ts';
import { resultSchema } from './result.ts';
import { metadataSchema, signalType } from './signal-envelope.ts';

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

export const toolResult = signalType('ai.tool.result', '/ai/tool', {
  ...callFields,
  result: resultSchema,
  content: z.string().optional(),
  metadata: metadataSchema,
});
