// emit_tool_result: publishes a known result as the result of a tool call, such as the recorded one in a fork.
// Must never call the tool.
import { emitToolResultSchema, type EmitToolResult } from '../../contract/directive/immediate-directive.ts';
import { defineDirective } from './definition.ts';

export const emitToolResult = defineDirective<EmitToolResult>({
  mode: 'immediate',
  type: 'emit_tool_result',
  schema: emitToolResultSchema,
  execute: ({ result }) => result,
});
