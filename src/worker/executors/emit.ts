// The immediate directives: each publishes a result that is known already, such as the recorded one in a fork.
// Must never call a tool, nor end anything but itself.
import {
  type EmitRequestError,
  emitRequestErrorSchema,
  type EmitToolError,
  emitToolErrorSchema,
  type EmitToolResult,
  emitToolResultSchema,
} from '../../contract/directive/immediate-directive.ts';
import { defineDirective } from './definition.ts';
import { errorEnvelope, normalizeError } from '../../contract/error-envelope.ts';
import { errorResult } from '../../contract/result.ts';

export const emitToolResult = defineDirective<EmitToolResult>({
  mode: 'immediate',
  type: 'emit_tool_result',
  schema: emitToolResultSchema,
  execute: ({ result }) => result,
});

export const emitToolError = defineDirective<EmitToolError>({
  mode: 'immediate',
  type: 'emit_tool_error',
  schema: emitToolErrorSchema,
  execute: ({ error, tool_name }) =>
    errorResult(normalizeError(error, 'execution_error', 'Tool execution failed', { tool_name })),
});

export const emitRequestError = defineDirective<EmitRequestError>({
  mode: 'immediate',
  type: 'emit_request_error',
  schema: emitRequestErrorSchema,
  execute: ({ reason, message }) => errorResult(errorEnvelope('execution_error', message, { reason })),
});
