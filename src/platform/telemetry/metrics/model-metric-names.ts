// The metrics of calls of models: as the conventions for generative AI name them, and as their newest version does.
// Must never have a label whose values callers choose.
import { LABEL, type MetricDefinition, MODEL_SECONDS, TOKENS } from './metric.ts';

const MODEL_LABELS = [LABEL.operation, LABEL.callOperation, LABEL.origin, LABEL.provider, LABEL.model];

export const MODEL_METRICS = {
  modelDuration: {
    kind: 'histogram',
    name: 'gen_ai.client.operation.duration',
    unit: 's',
    labels: [...MODEL_LABELS, LABEL.errorType],
    says: 'Time of a call of a model. `origin` is `directive`, or `action` for a call that a tool asked for; `operation` is `stream_text`, `generate_text` or `embed`.',
    buckets: MODEL_SECONDS,
  },
  firstChunk: {
    kind: 'histogram',
    name: 'gen_ai.client.operation.time_to_first_chunk',
    unit: 's',
    labels: MODEL_LABELS,
    says: 'From the request to the first chunk of a streamed answer.',
    buckets: MODEL_SECONDS,
  },
  tokenUsage: {
    kind: 'histogram',
    name: 'gen_ai.client.token.usage',
    unit: '{token}',
    labels: [...MODEL_LABELS, LABEL.tokenType],
    says: 'Tokens of a call, `input` and `output`; its sum counts them all.',
    buckets: TOKENS,
  },
  inferenceDuration: {
    kind: 'histogram',
    name: 'gen_ai.client.inference.duration',
    unit: 's',
    labels: [...MODEL_LABELS, LABEL.errorType],
    says: 'With the newest names, in place of `gen_ai.client.operation.duration` for all but embeddings.',
    buckets: MODEL_SECONDS,
  },
  inferenceFirstChunk: {
    kind: 'histogram',
    name: 'gen_ai.client.inference.time_to_first_chunk',
    unit: 's',
    labels: MODEL_LABELS,
    says: 'With the newest names, in place of `gen_ai.client.operation.time_to_first_chunk`.',
    buckets: MODEL_SECONDS,
  },
  inferenceInputTokens: {
    kind: 'counter',
    name: 'gen_ai.client.inference.usage.input_tokens',
    unit: '{token}',
    labels: MODEL_LABELS,
    says: 'With the newest names, in place of `gen_ai.client.token.usage` for all but embeddings.',
  },
  inferenceOutputTokens: {
    kind: 'counter',
    name: 'gen_ai.client.inference.usage.output_tokens',
    unit: '{token}',
    labels: MODEL_LABELS,
    says: 'The same for the tokens of answers.',
  },
  cost: {
    kind: 'counter',
    name: 'adjutant.model.cost',
    unit: '{USD}',
    labels: [LABEL.provider, LABEL.model],
    says: 'US dollars, of models with a configured price.',
  },
} as const satisfies Record<string, Omit<MetricDefinition, 'by'>>;
