// llm_generate: one answer of a language model, returned as a whole. Never streams: llm_stream does.
import { llmGenerateSchema, type LlmGenerate } from '../../contract/directive/work-directive.ts';
import { generateAnswer } from '../../models/model-generation.ts';
import { defineDirective, type DirectiveDefinition } from './definition.ts';
import { callModel, type LlmOptions } from './llm-call.ts';

export function llmGenerate(options: LlmOptions): DirectiveDefinition {
  return defineDirective<LlmGenerate>({
    mode: 'queued',
    type: 'llm_generate',
    schema: llmGenerateSchema,
    repeatPolicy: () => Promise.resolve('idempotent'),
    started: () => null,
    execute: (directive, context) => callModel(options, directive, context, generateAnswer),
  });
}
