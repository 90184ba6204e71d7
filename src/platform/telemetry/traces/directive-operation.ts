// The operation of a directive, as spans name it: the call of a tool, of a model, of an embedding model. Never shows
// arguments or prompts: those are content.
import { type Directive, callVocabulary } from '../../../contract/directive/directive.ts';
import { parseModelName } from '../../../contract/model/model-name.ts';
import { operationOfWire } from '../../../contract/model/model-wire.ts';
import type {
  LlmEmbed,
  LlmGenerate,
  LlmRequest,
  LlmStream,
} from '../../../contract/directive/work-directive.ts';
import { ATTRIBUTE } from './semantic-names.ts';
import type { Attributes } from './span.ts';

export interface Operation {
  readonly name: string;
  readonly attributes: Attributes;
}

/** `model`: the one that is asked; null: none was chosen. null: the directive calls nothing that has a name of its own. */
export function operationOf(directive: Directive, model: string | null): Operation | null {
  switch (directive.type) {
    case 'tool_exec':
      return {
        name: `execute_tool ${directive.tool_name}`,
        attributes: {
          [ATTRIBUTE.operation]: 'execute_tool',
          [ATTRIBUTE.toolName]: directive.tool_name,
          [ATTRIBUTE.toolType]: 'extension',
          [ATTRIBUTE.toolCall]: directive.id,
          ...vocabularyAttributes(directive.type),
        },
      };
    case 'llm_stream':
    case 'llm_generate':
      return modelOperation('chat', directive, model, chatAttributes(directive));
    case 'llm_embed':
      return modelOperation('embeddings', directive, model, {
        [ATTRIBUTE.dimensions]: directive.dimensions,
        [ATTRIBUTE.requestEncodings]: directive.encoding_format && [directive.encoding_format],
      });
    case 'llm_request':
      return modelOperation(operationOfWire(directive.wire), directive, model);
    case 'emit_tool_error':
    case 'emit_tool_result':
    case 'emit_request_error':
    // Of a user's own type.
    default:
      return null;
  }
}

/** As the metadata of signals says it. */
function vocabularyAttributes(type: Directive['type']): Attributes {
  const { operation, origin } = callVocabulary(type);
  return { [ATTRIBUTE.callOperation]: operation, [ATTRIBUTE.origin]: origin };
}

function modelOperation(
  operation: 'chat' | 'embeddings',
  { type, model: asked, model_alias: alias }: LlmStream | LlmGenerate | LlmEmbed | LlmRequest,
  chosen: string | null,
  more: Attributes = {},
): Operation {
  const ref = parseModelName(chosen ?? asked ?? '');
  const model = ref?.model ?? chosen ?? (asked || alias || '');
  const named = {
    [ATTRIBUTE.operation]: operation,
    [ATTRIBUTE.provider]: ref?.provider,
    [ATTRIBUTE.requestModel]: model,
    ...vocabularyAttributes(type),
  };
  return { name: `${operation} ${model}`, attributes: { ...named, ...more } };
}

function chatAttributes(directive: LlmStream | LlmGenerate): Attributes {
  return {
    [ATTRIBUTE.requestMaxTokens]: directive.max_tokens,
    [ATTRIBUTE.requestTemperature]: directive.temperature,
    [ATTRIBUTE.requestStream]: directive.type === 'llm_stream',
    [ATTRIBUTE.outputType]: directive.output_schema === undefined ? undefined : 'json',
  };
}
