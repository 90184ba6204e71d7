// What the span of a call shows of its content, where the operator wants that: arguments and results, prompts and answers.
// Must never show anything that is not asked for in the configuration.
import type { Directive } from '../../contract/directive/directive.ts';
import type { Execution } from '../executors/definition.ts';
import { type ContentLimit, shown } from '../../platform/telemetry/traces/content.ts';
import { ATTRIBUTE } from '../../platform/telemetry/traces/semantic-names.ts';
import type { Attributes } from '../../platform/telemetry/traces/span.ts';

export function contentOf(limit: ContentLimit, directive: Directive, { result }: Execution): Attributes {
  if (limit.bytes === 0) return {};
  const payload = result.ok ? result.payload : undefined;
  switch (directive.type) {
    case 'tool_exec':
      return {
        [ATTRIBUTE.toolArguments]: shown(limit, directive.arguments),
        [ATTRIBUTE.toolResult]: shown(limit, payload),
      };
    case 'llm_stream':
    case 'llm_generate': {
      const { context, system_prompt } = directive;
      return {
        [ATTRIBUTE.systemInstructions]: shown(limit, system_prompt),
        [ATTRIBUTE.inputMessages]: shown(limit, 'messages' in context ? context.messages : context),
        [ATTRIBUTE.outputMessages]: shown(limit, payload && [payload]),
      };
    }
    case 'llm_request':
      return {
        [ATTRIBUTE.inputMessages]: shown(limit, directive.body),
        [ATTRIBUTE.outputMessages]: shown(limit, payload && [payload]),
      };
    case 'llm_embed':
    case 'emit_tool_error':
    case 'emit_tool_result':
    case 'emit_request_error':
    // Of a user's own type.
    default:
      return {};
  }
}
