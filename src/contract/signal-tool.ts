// Signals of tool calls.
// Must never carry a secret: the writer redacts the arguments.
import * as z from 'zod';
import { instantSchema, toolNameSchema } from './identifiers.ts';
import { resultSchema } from './result.ts';
import { metadataSchema, signalType } from './signal-envelope.ts';
import { inputActionSchema, inputCauseSchema, openInputSchema } from './tool-question.ts';

const callFields = {
  call_id: z.string().min(1).describe('Id of the directive or tool call that the signal reports on.'),
  tool_name: toolNameSchema.describe('Name of the tool, `tool` or `server.tool`.'),
};

/** Signal `ai.tool.started`: the start of a tool call. */
export const toolStarted = signalType('ai.tool.started', '/ai/tool', {
  ...callFields,
  arguments: z.unknown().optional().describe('Arguments of the call, with secrets redacted.'),
  metadata: metadataSchema,
});

/** Signal `ai.tool.progress`: the progress of a tool call. */
export const toolProgress = signalType('ai.tool.progress', '/ai/tool', {
  ...callFields,
  progress: z.number().describe('Progress of the call, in units of the tool.'),
  total: z.number().optional().describe('Value of `progress` at completion. Absent: unknown.'),
  message: z.string().optional().describe('Description of the progress.'),
  metadata: metadataSchema,
});

/** Signal `ai.tool.approval_requested`: a call waits for approval. */
export const toolApprovalRequested = signalType('ai.tool.approval_requested', '/ai/tool', {
  ...callFields,
  arguments: z.unknown().optional().describe('Arguments of the call, with secrets redacted.'),
  reason: z.string().optional().describe('Reason why approval is required.'),
  deadline_at: instantSchema
    .optional()
    .describe('Instant (UTC) at which the call is denied without a decision.'),
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
  input_id: z.string().min(1).max(256).describe('Id of the question.'),
  action: inputActionSchema.describe('Action of the answering person.'),
  cause: inputCauseSchema.describe(
    "Cause of the question's end: an answer, the deadline, or a withdrawal by the tool.",
  ),
  by: z.string().optional().describe('Name of the answering person, as the caller stated it.'),
  metadata: metadataSchema,
});

/** Signal `ai.tool.result`: the result of a tool call. Terminal. */
export const toolResult = signalType('ai.tool.result', '/ai/tool', {
  ...callFields,
  result: resultSchema.describe('Result of the call.'),
  content: z.string().optional().describe('Text of the result, as the model reads it.'),
  metadata: metadataSchema,
});
