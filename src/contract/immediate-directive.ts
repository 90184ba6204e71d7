// Immediate directives: answered at acceptance, without a queue.
// Must never gain a field that would need a worker.
import * as z from 'zod';
import { directiveFields, submittedFields } from './directive-identity.ts';
import { toolNameSchema } from './identifiers.ts';

const toolErrorFields = {
  type: z.literal('emit_tool_error'),
  tool_name: toolNameSchema,
  error: z.unknown(),
};

const requestErrorFields = {
  type: z.literal('emit_request_error'),
  reason: z.string().min(1),
  message: z.string(),
};

export const emitToolErrorSchema = z.strictObject({ ...directiveFields, ...toolErrorFields });
export const emitRequestErrorSchema = z.strictObject({ ...directiveFields, ...requestErrorFields });

export const submittedEmitToolErrorSchema = z.strictObject({ ...submittedFields, ...toolErrorFields });
export const submittedEmitRequestErrorSchema = z.strictObject({ ...submittedFields, ...requestErrorFields });

export type EmitToolError = z.infer<typeof emitToolErrorSchema>;
export type EmitRequestError = z.infer<typeof emitRequestErrorSchema>;
export type ImmediateDirective = EmitToolError | EmitRequestError;
