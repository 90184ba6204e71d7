// llm_generate: one answer of a language model, told when it is whole.
// Must never stream: a caller who wants the pieces asks for llm_stream.
import { llmGenerateSchema, type LlmGenerate } from '../contract/work-directive.ts';
import { generateAnswer } from '../llm/model-generation.ts';
import { defineDirective, type DirectiveDefinition } from './definition.ts';
import { callModel, type LlmOptions } from './llm-call.ts';

export function llmGenerate(options: LlmOptions): DirectiveDefinition {
  return defineDirective<LlmGenerate>({
    mode: 'queued',
    type: 'llm_generate',
    schema: llmGenerateSchema,
    effect: () => Promise.resolve('idempotent'),
    started: () => null,
    execute: (directive, context) => callModel(options, directive, context, generateAnswer),
  });
}
