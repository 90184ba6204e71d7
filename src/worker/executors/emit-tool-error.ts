// emit_tool_error: reports that a tool call failed, without making one.
// Must never emit a success.
import { normalizeError } from '../../contract/error-envelope.ts';
import { emitToolErrorSchema, type EmitToolError } from '../../contract/directive/immediate-directive.ts';
import { errorResult } from '../../contract/result.ts';
import { defineDirective } from './definition.ts';

export const emitToolError = defineDirective<EmitToolError>({
  mode: 'immediate',
  type: 'emit_tool_error',
  schema: emitToolErrorSchema,
  execute: ({ error, tool_name }) =>
    errorResult(normalizeError(error, 'execution_error', 'Tool execution failed', { tool_name })),
});
