// Immediate directives: answered at acceptance, without a queue.
// Must never gain a field that would need a worker.
import * as z from 'zod';
import { directiveFields, submittedFields } from './directive-identity.ts';
import { jsonObjectSchema, toolNameSchema } from '../identifiers.ts';
import { resultSchema } from '../result.ts';

const toolErrorFields = {
  type: z
    .literal('emit_tool_error')
    .describe('Type of the directive: publishes an error as the result of a tool call.'),
  tool_name: toolNameSchema.describe('Name of the tool, `tool` or `server.tool`.'),
  error: z.unknown().describe('Error of the tool, any JSON value.'),
};

const toolResultFields = {
  type: z
    .literal('emit_tool_result')
    .describe(
      'Type of the directive: publishes a known result as the result of a tool call, without calling the tool.',
    ),
  tool_name: toolNameSchema.describe('Name of the tool, `tool` or `server.tool`.'),
  arguments: jsonObjectSchema
    .optional()
    .describe('Arguments of the call that the result answers. Default: unknown.'),
  result: resultSchema.describe('Result of the tool.'),
  content: z
    .string()
    .optional()
    .describe('Text of the result that a model reads. Default: made of the result.'),
};

const requestErrorFields = {
  type: z
    .literal('emit_request_error')
    .describe('Type of the directive: publishes an error of a whole request.'),
  reason: z.string().min(1).describe('Type of the error.'),
  message: z.string().describe('Explanation of the error.'),
};

/** Schema of an accepted `emit_tool_error`. */
export const emitToolErrorSchema = z.strictObject({ ...directiveFields, ...toolErrorFields });
/** Schema of an accepted `emit_tool_result`. */
export const emitToolResultSchema = z.strictObject({ ...directiveFields, ...toolResultFields });
/** Schema of an accepted `emit_request_error`. */
export const emitRequestErrorSchema = z.strictObject({ ...directiveFields, ...requestErrorFields });

/** Schema of a submitted `emit_tool_error`. */
export const submittedEmitToolErrorSchema = z.strictObject({ ...submittedFields, ...toolErrorFields });
/** Schema of a submitted `emit_tool_result`. */
export const submittedEmitToolResultSchema = z.strictObject({ ...submittedFields, ...toolResultFields });
/** Schema of a submitted `emit_request_error`. */
export const submittedEmitRequestErrorSchema = z.strictObject({ ...submittedFields, ...requestErrorFields });

/** Directive that publishes an error as the result of a tool call. */
export type EmitToolError = z.infer<typeof emitToolErrorSchema>;
/** Directive that publishes a known result as the result of a tool call. */
export type EmitToolResult = z.infer<typeof emitToolResultSchema>;
/** Directive that publishes an error of a whole request. */
export type EmitRequestError = z.infer<typeof emitRequestErrorSchema>;
/** Directive that is executed at its acceptance, without a worker. */
export type ImmediateDirective = EmitToolError | EmitToolResult | EmitRequestError;
