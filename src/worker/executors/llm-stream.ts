// llm_stream: one answer of a language model, reported in deltas while it is written. Never reports deltas faster than
// they can be written to the journal.
import { llmStreamSchema, type LlmStream } from '../../contract/directive/work-directive.ts';
import type { AnswerPiece } from '../../models/answers/answer-collector.ts';
import { streamAnswer } from '../../models/model-stream.ts';
import type { ToolNames } from '../../models/requests/tool-names.ts';
import { defineDirective, type DirectiveDefinition, type ExecutionContext } from './definition.ts';
import { callModel, type LlmOptions } from './llm-call.ts';

export function llmStream(options: LlmOptions): DirectiveDefinition {
  return defineDirective<LlmStream>({
    mode: 'queued',
    type: 'llm_stream',
    schema: llmStreamSchema,
    repeatPolicy: () => Promise.resolve('idempotent'),
    started: () => null,
    execute: (directive, context) =>
      callModel(options, directive, context, (call, names) =>
        streamAnswer(call, async (piece) => {
          reportPiece(directive.id, piece, names, context);
          await context.drained();
        }),
      ),
  });
}

function reportPiece(
  call_id: string,
  piece: AnswerPiece,
  names: ToolNames,
  { report }: ExecutionContext,
): void {
  if (piece.kind !== 'tool_call') {
    report('ai.llm.delta', { call_id, delta: piece.text, chunk_type: piece.kind, metadata: {} });
    return;
  }
  const { index, id, wireName, input } = piece;
  const delta = { index, id, name: names.decode(wireName), arguments: input };
  report('ai.llm.delta', { call_id, delta, chunk_type: 'tool_call', metadata: {} });
}
