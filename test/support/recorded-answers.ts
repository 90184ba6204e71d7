/** Answers of the providers as in their documentation, event by event.
 *  It must never be simpler than what the providers send. */
import { sse } from './provider-server.ts';

/** Chat completions, with the usage chunk at the end. */
export const OPENAI_CHAT = sse([
  chatChunk({ delta: { role: 'assistant', content: '', refusal: null } }),
  chatChunk({ delta: { content: 'Hello' } }),
  chatChunk({ delta: { content: ', wörld 🌍' } }),
  chatChunk({ delta: {}, finish_reason: 'stop' }),
  {
    ...chatHead(),
    choices: [],
    usage: {
      prompt_tokens: 19,
      completion_tokens: 10,
      total_tokens: 29,
      prompt_tokens_details: { cached_tokens: 8, audio_tokens: 0 },
      completion_tokens_details: {
        reasoning_tokens: 4,
        audio_tokens: 0,
        accepted_prediction_tokens: 0,
        rejected_prediction_tokens: 0,
      },
    },
  },
  '[DONE]',
]);

/** Two calls at once, their arguments in pieces. */
export const OPENAI_CHAT_TOOLS = sse([
  chatChunk({
    delta: {
      role: 'assistant',
      content: null,
      tool_calls: [
        { index: 0, id: 'call_a', type: 'function', function: { name: 'weather_get', arguments: '' } },
      ],
    },
  }),
  chatChunk({ delta: { tool_calls: [{ index: 0, function: { arguments: '{"city":' } }] } }),
  chatChunk({ delta: { tool_calls: [{ index: 0, function: { arguments: '"Paris"}' } }] } }),
  chatChunk({
    delta: {
      tool_calls: [
        { index: 1, id: 'call_b', type: 'function', function: { name: 'weather_get', arguments: '' } },
      ],
    },
  }),
  chatChunk({ delta: { tool_calls: [{ index: 1, function: { arguments: '{"city":"Rome"' } }] } }),
  chatChunk({ delta: { tool_calls: [{ index: 1, function: { arguments: '}' } }] } }),
  chatChunk({ delta: {}, finish_reason: 'tool_calls' }),
  '[DONE]',
]);

function chatHead() {
  return {
    id: 'chatcmpl-9x',
    object: 'chat.completion.chunk',
    created: 1_741_569_952,
    model: 'gpt-4o-mini-2024-07-18',
    service_tier: 'default',
    system_fingerprint: 'fp_44709d6fcb',
  };
}

function chatChunk(choice: Record<string, unknown>) {
  return {
    ...chatHead(),
    choices: [{ index: 0, logprobs: null, finish_reason: null, ...choice }],
    usage: null,
  };
}

const RESPONSE = {
  id: 'resp_67c9',
  object: 'response',
  created_at: 1_741_290_958,
  status: 'in_progress',
  error: null,
  incomplete_details: null,
  instructions: null,
  model: 'gpt-5-mini-2025-08-07',
  output: [],
  parallel_tool_calls: true,
  previous_response_id: null,
  store: false,
  temperature: 1,
  tool_choice: 'auto',
  tools: [],
  usage: null,
};
const REASONING = {
  id: 'rs_1',
  type: 'reasoning',
  summary: [{ type: 'summary_text', text: 'The user wants the weather.' }],
  encrypted_content: 'gAAAAABencrypted',
};
const FUNCTION_CALL = {
  id: 'fc_1',
  type: 'function_call',
  status: 'completed',
  call_id: 'call_r',
  name: 'weather_get',
  arguments: '{"city":"Paris"}',
};

/** Responses: reasoning with a summary, then a function call. */
export const OPENAI_RESPONSES = sse(
  [
    { type: 'response.created', sequence_number: 0, response: RESPONSE },
    { type: 'response.in_progress', sequence_number: 1, response: RESPONSE },
    {
      type: 'response.output_item.added',
      sequence_number: 2,
      output_index: 0,
      item: { id: 'rs_1', type: 'reasoning', summary: [], encrypted_content: 'gAAA' },
    },
    {
      type: 'response.reasoning_summary_part.added',
      sequence_number: 3,
      item_id: 'rs_1',
      output_index: 0,
      summary_index: 0,
      part: { type: 'summary_text', text: '' },
    },
    {
      type: 'response.reasoning_summary_text.delta',
      sequence_number: 4,
      item_id: 'rs_1',
      output_index: 0,
      summary_index: 0,
      delta: 'The user wants ',
    },
    {
      type: 'response.reasoning_summary_text.delta',
      sequence_number: 5,
      item_id: 'rs_1',
      output_index: 0,
      summary_index: 0,
      delta: 'the weather.',
    },
    { type: 'response.output_item.done', sequence_number: 6, output_index: 0, item: REASONING },
    {
      type: 'response.output_item.added',
      sequence_number: 7,
      output_index: 1,
      item: { ...FUNCTION_CALL, status: 'in_progress', arguments: '' },
    },
    {
      type: 'response.function_call_arguments.delta',
      sequence_number: 8,
      item_id: 'fc_1',
      output_index: 1,
      delta: '{"city":',
    },
    {
      type: 'response.function_call_arguments.delta',
      sequence_number: 9,
      item_id: 'fc_1',
      output_index: 1,
      delta: '"Paris"}',
    },
    {
      type: 'response.function_call_arguments.done',
      sequence_number: 10,
      item_id: 'fc_1',
      output_index: 1,
      arguments: '{"city":"Paris"}',
    },
    { type: 'response.output_item.done', sequence_number: 11, output_index: 1, item: FUNCTION_CALL },
    {
      type: 'response.completed',
      sequence_number: 12,
      response: {
        ...RESPONSE,
        status: 'completed',
        output: [REASONING, FUNCTION_CALL],
        usage: {
          input_tokens: 37,
          input_tokens_details: { cached_tokens: 0 },
          output_tokens: 30,
          output_tokens_details: { reasoning_tokens: 12 },
          total_tokens: 67,
        },
      },
    },
  ],
  { named: true },
);

/** Messages: extended thinking with its signature, text, then a tool call; pings in between. */
export const ANTHROPIC = sse(
  [
    {
      type: 'message_start',
      message: {
        id: 'msg_01',
        type: 'message',
        role: 'assistant',
        content: [],
        model: 'claude-sonnet-4-20250514',
        stop_reason: null,
        stop_sequence: null,
        usage: {
          input_tokens: 472,
          cache_creation_input_tokens: 20,
          cache_read_input_tokens: 100,
          output_tokens: 2,
        },
      },
    },
    {
      type: 'content_block_start',
      index: 0,
      content_block: { type: 'thinking', thinking: '', signature: '' },
    },
    { type: 'ping' },
    {
      type: 'content_block_delta',
      index: 0,
      delta: { type: 'thinking_delta', thinking: 'They ask for the weather.' },
    },
    { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: ' I look.' } },
    {
      type: 'content_block_delta',
      index: 0,
      delta: { type: 'signature_delta', signature: 'EqQBCgIYAhIM1gbcDa9GJwZA2b3h' },
    },
    { type: 'content_block_stop', index: 0 },
    { type: 'content_block_start', index: 1, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'Let me check' } },
    { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: ' the weather.' } },
    { type: 'content_block_stop', index: 1 },
    {
      type: 'content_block_start',
      index: 2,
      content_block: { type: 'tool_use', id: 'toolu_01', name: 'weather_get', input: {} },
    },
    { type: 'content_block_delta', index: 2, delta: { type: 'input_json_delta', partial_json: '' } },
    {
      type: 'content_block_delta',
      index: 2,
      delta: { type: 'input_json_delta', partial_json: '{"city": "Pa' },
    },
    { type: 'content_block_delta', index: 2, delta: { type: 'input_json_delta', partial_json: 'ris"}' } },
    { type: 'content_block_stop', index: 2 },
    {
      type: 'message_delta',
      delta: { stop_reason: 'tool_use', stop_sequence: null },
      usage: { output_tokens: 89 },
    },
    { type: 'message_stop' },
  ],
  { named: true },
);

/** streamGenerateContent: a thought, text, and a function call with its signature. */
export const GOOGLE = sse([
  {
    candidates: [
      { content: { parts: [{ text: 'Weather it is.', thought: true }], role: 'model' }, index: 0 },
    ],
    usageMetadata: { promptTokenCount: 30, totalTokenCount: 45, thoughtsTokenCount: 15 },
    modelVersion: 'gemini-2.5-flash',
    responseId: 'mAitaL',
  },
  {
    candidates: [{ content: { parts: [{ text: 'Looking it up.' }], role: 'model' }, index: 0 }],
    usageMetadata: {
      promptTokenCount: 30,
      candidatesTokenCount: 4,
      totalTokenCount: 49,
      thoughtsTokenCount: 15,
    },
    modelVersion: 'gemini-2.5-flash',
    responseId: 'mAitaL',
  },
  {
    candidates: [
      {
        content: {
          parts: [
            {
              functionCall: { name: 'weather_get', args: { city: 'Paris' } },
              thoughtSignature: 'CpgBVKhc7sig',
            },
          ],
          role: 'model',
        },
        finishReason: 'STOP',
        index: 0,
      },
    ],
    usageMetadata: {
      promptTokenCount: 30,
      candidatesTokenCount: 12,
      totalTokenCount: 57,
      promptTokensDetails: [{ modality: 'TEXT', tokenCount: 30 }],
      thoughtsTokenCount: 15,
    },
    modelVersion: 'gemini-2.5-flash',
    responseId: 'mAitaL',
  },
]);
