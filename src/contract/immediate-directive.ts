// Immediate directives: those answered at acceptance, without a queue.
// Must never gain a field that would need a worker.
import * as z from 'zod';
import { identifierSchema, jsonObjectSchema, toolNameSchema } from './identifiers.ts';

const identityFields = {
  id: identifierSchema,
  request_id: identifierSchema,
  metadata: jsonObjectSchema.default({}),
};

export const emitToolErrorSchema = z.strictObject({
  type: z.literal('emit_tool_error'),
  ...identityFields,
  tool_name: toolNameSchema,
  error: z.unknown(),
});

export const emitRequestErrorSchema = z.strictObject({
  type: z.literal('emit_request_error'),
  ...identityFields,
  reason: z.string().min(1),
  message: z.string(),
});

export type EmitToolError = z.infer<typeof emitToolErrorSchema>;
export type EmitRequestError = z.infer<typeof emitRequestErrorSchema>;
export type ImmediateDirective = EmitToolError | EmitRequestError;
