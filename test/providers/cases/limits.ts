/** Refusals: prompts that are too long, accounts without credit, rate limits, each in the words of its provider.
 *  A limit that no wait mends must never be waited for. */
import assert from 'node:assert/strict';
import { type CallResult, errorIn } from '../../support/model-calls.ts';
import {
  type CallRow,
  type Cell,
  NEXT_ANSWER,
  type Reply,
  type Row,
  type RunRow,
  type ServiceRow,
} from '../row.ts';
import { json, refused, refusedInStream, type Refusal } from '../wires.ts';

interface Expected {
  type: string;
  reason?: string;
  unavailable?: boolean;
}

function typed({ type, reason, unavailable }: Expected): CallRow['expects'] {
  return (result: CallResult) => {
    const { execution, limiter } = result;
    const error = errorIn(result);
    assert.deepEqual([error.type, error.details['reason']], [type, reason]);
    assert.equal(execution.unavailable ?? false, unavailable ?? false);
    if (type !== 'rate_limited') assert.deepEqual(limiter.blocked, []);
  };
}

/** Proxies pass the words on, so that every wire may bring them. `play`: as a response, or inside a stream. */
function refusal(expected: Expected, play: typeof refused = refused) {
  return (kind: string, rule: string, refusal: Refusal): CallRow => ({
    through: 'call',
    kind,
    rule,
    modes: play === refused ? ['streamed', 'whole'] : ['streamed'],
    says: ({ wire }) => play(wire, refusal),
    expects: typed(expected),
  });
}

const CONTEXT_LENGTH: Expected = { type: 'validation_error', reason: 'context_length', unavailable: true };
const NO_CREDIT: Expected = { type: 'auth', reason: 'no_credit', unavailable: true };
const tooLong = refusal(CONTEXT_LENGTH);
const unpaid = refusal(NO_CREDIT);
const tooLarge = refusal({ type: 'validation_error', reason: 'request_too_large', unavailable: true });
const limited = refusal({ type: 'rate_limited', unavailable: true });
const overloaded = refusal({ type: 'provider_error', reason: 'overloaded', unavailable: true });

const bad = (message: string, code?: string): Refusal =>
  code === undefined ? { status: 400, message } : { status: 400, message, code };

const CONTEXT: readonly CallRow[] = [
  tooLong(
    'context: OpenAI',
    'OpenAI: context_length_exceeded',
    bad("This model's maximum context length is 8192 tokens.", 'context_length_exceeded'),
  ),
  tooLong('context: Responses', 'OpenAI', bad('Your input exceeds the context window of this model.')),
  tooLong('context: Anthropic', 'Anthropic', bad('prompt is too long: 210000 tokens > 200000 maximum')),
  tooLong(
    'context: Anthropic with max_tokens',
    'continuedev/continue#6080',
    bad('input length and `max_tokens` exceed context limit: 199759 + 8192 > 200000'),
  ),
  tooLong(
    'context: Google',
    'Gemini',
    bad('The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).'),
  ),
  tooLong(
    'context: llama.cpp',
    'openclaw/openclaw#64180',
    bad(
      'request (66202 tokens) exceeds the available context size (65536 tokens), try increasing it',
      'exceed_context_size_error',
    ),
  ),
  tooLong(
    'context: xAI',
    'earendil-works/pi#2626',
    bad("This model's maximum prompt length is 131072 but the request contains 537812 tokens"),
  ),
  tooLong('context: Bedrock', 'cline/kanban#504', bad('Input is too long for requested model.')),
  tooLong('context: Together', 'Together and TGI', {
    status: 422,
    message:
      'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 9000 `inputs` tokens',
  }),
  tooLong(
    'context: vLLM',
    'vllm-project/vllm#36197',
    bad('The decoder prompt (length 5152) is longer than the maximum model length of 4096.'),
  ),
  tooLong(
    'context: SGLang',
    'anomalyco/opencode#25230',
    bad("Requested token count exceeds the model's maximum context length of 202752 tokens."),
  ),
  tooLong('context: Ollama', 'ollama/ollama', {
    status: 500,
    message: 'the input length exceeds the context length',
  }),
  tooLong(
    'context: Groq',
    'Groq: context_length_exceeded',
    bad('Please reduce the length of the messages or completion.', 'context_length_exceeded'),
  ),
  tooLong(
    'context: Mistral',
    'Mistral: invalid_request_prompt',
    bad(
      'Prompt contains 40123 tokens and 0 draft tokens, too large for model with 32768 maximum context length',
    ),
  ),
  tooLong(
    'context: LM Studio',
    'LM Studio',
    bad('The number of tokens to keep from the initial prompt is greater than the context length.'),
  ),
  tooLong(
    'context: OpenRouter',
    'refly-ai/refly#1177',
    bad("This endpoint's maximum context length is 32768 tokens. However, you requested about 42832 tokens"),
  ),
  tooLong(
    'context: Poolside',
    'earendil-works/pi#4943',
    bad('Input length 131393 exceeds the maximum allowed input length of 131040 tokens.'),
  ),
  tooLong(
    'context: Kimi',
    'Kimi',
    bad('Your request exceeded model token limit: 262144 (requested: 291351)'),
  ),
  tooLong('context: z.ai', 'z.ai, code 1261', bad('Prompt exceeds max length', '1261')),
];

const CREDIT: readonly CallRow[] = [
  unpaid('credit: OpenAI', 'OpenAI: insufficient_quota', {
    status: 429,
    code: 'insufficient_quota',
    message: 'You exceeded your current quota, please check your plan and billing details.',
  }),
  unpaid(
    'credit: OpenAI, hard limit',
    'OpenAI: billing_hard_limit_reached',
    bad('Billing hard limit has been reached', 'billing_hard_limit_reached'),
  ),
  unpaid(
    'credit: Anthropic',
    'code-yeongyu/oh-my-openagent#3610',
    bad('Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing'),
  ),
  unpaid(
    'credit: Anthropic, usage limit',
    'Anthropic: spend limits',
    bad(
      'You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC.',
    ),
  ),
  unpaid('credit: DeepSeek', 'NousResearch/hermes-agent#16976', {
    status: 402,
    message: 'Insufficient Balance',
  }),
  unpaid('credit: OpenRouter', 'OpenRouter: 402', {
    status: 402,
    message: 'This request requires more credits, or fewer max_tokens.',
  }),
  unpaid('credit: OpenRouter, key limit', 'OpenRouter: 403', {
    status: 403,
    message: 'Key limit exceeded (monthly limit).',
  }),
  unpaid('credit: xAI', 'warpdotdev/warp#14863', {
    status: 403,
    message:
      'Your team 8c26 has either used all available credits or reached its monthly spending limit. To continue, please purchase more credits.',
  }),
  unpaid('credit: xAI, as 429', 'continuedev/continue#10373', {
    status: 429,
    message: 'Your team 16f2 has either used all available credits or reached its monthly spending limit.',
  }),
  unpaid('credit: xAI, a new team', 'xAI', {
    status: 403,
    message:
      "Your newly created team doesn't have any credits yet. You can purchase credits on console.x.ai.",
  }),
  unpaid('credit: Google', 'Gemini: RESOURCE_EXHAUSTED without a delay', {
    status: 429,
    code: 'RESOURCE_EXHAUSTED',
    message: 'You exceeded your current quota, please check your plan and billing details.',
  }),
  unpaid('credit: Google, prepaid', 'Gemini: prepay', {
    status: 429,
    code: 'RESOURCE_EXHAUSTED',
    message:
      'Your prepayment credits are depleted. Please go to AI Studio to manage your project and billing.',
  }),
  unpaid('credit: Google, no quota', 'Gemini: limit 0 of the free tier', {
    status: 429,
    code: 'RESOURCE_EXHAUSTED',
    message:
      'Quota exceeded for metric: generate_content_free_tier_requests, limit: 0, model: gemini-2.5-pro. Please retry in 37s.',
  }),
  unpaid('credit: Google, billing', 'Google Cloud: BILLING_DISABLED', {
    status: 403,
    code: 'PERMISSION_DENIED',
    message: 'This API method requires billing to be enabled.',
  }),
  unpaid('credit: Google, 403 quota', 'Google Cloud: quotaExceeded', {
    status: 403,
    code: 'PERMISSION_DENIED',
    message: 'The quota has been exceeded: quotaExceeded.',
  }),
  unpaid('credit: Together', 'Together: 402', {
    status: 402,
    message: 'Credit limit exceeded, please navigate to billing settings.',
  }),
  unpaid('credit: Mistral', 'Mistral: 402', { status: 402, message: 'Payment required' }),
  unpaid(
    'credit: Groq',
    'Groq: spend limits',
    bad('Your organization has reached its spend limit.', 'spend_limit'),
  ),
  unpaid('credit: Hugging Face', 'Hugging Face: 402', {
    status: 402,
    message: 'You have exceeded your monthly included credits for Inference Providers.',
  }),
  unpaid('credit: a proxy, as 400', 'diegosouzapw/OmniRoute#10116', bad('You have insufficient credits.')),
  unpaid('credit: Perplexity', 'Perplexity: 401', { status: 401, message: 'insufficient_quota' }),
];

const GROQ =
  'Request too large for model `m` in organization `o` service tier `on_demand` on tokens per minute (TPM): Limit 6000, Requested 9264, please reduce your message size and try again. Need more tokens? Upgrade to Dev Tier today at https://console.groq.com/settings/billing';

const LIMITS: readonly CallRow[] = [
  tooLarge('Groq: 413 above the tokens per minute', 'HunorLaczko/ha-groq-cloud-api#27', {
    status: 413,
    code: 'rate_limit_exceeded',
    message: GROQ,
  }),
  tooLarge('OpenAI: 429 above the tokens per minute', 'vanna-ai/vanna-flask#11', {
    status: 429,
    code: 'rate_limit_exceeded',
    message:
      'Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 342389. The input or output tokens must be reduced.',
  }),
  tooLarge('413 of a proxy', 'nginx: client_max_body_size', {
    status: 413,
    message: 'Request Entity Too Large',
  }),
  limited('Groq: 429', 'elizaOS/eliza#4040', {
    status: 429,
    code: 'rate_limit_exceeded',
    message: GROQ.replace('Request too large', 'Rate limit reached'),
    headers: { 'retry-after': '5' },
  }),
  limited('Google: 429 that passes', 'Gemini: a quota of a minute', {
    status: 429,
    code: 'RESOURCE_EXHAUSTED',
    message:
      'You exceeded your current quota, please check your plan and billing details. Quota exceeded for metric: input tokens per minute.',
    headers: { 'retry-after': '5' },
  }),
  limited('Bedrock: too many tokens', 'Bedrock: ThrottlingException', {
    status: 429,
    message: 'Too many tokens, please wait before trying again.',
  }),
  limited('Google: 403 for a rate limit', 'Google Cloud: rateLimitExceeded', {
    status: 403,
    code: 'PERMISSION_DENIED',
    message: 'Rate Limit Exceeded: rateLimitExceeded',
  }),
  overloaded('Groq: 498', 'laravel/ai#925', {
    status: 498,
    code: 'capacity_exceeded',
    message: 'Flex tier capacity exceeded',
  }),
];

const STREAMED: readonly CallRow[] = [
  refusal(CONTEXT_LENGTH, refusedInStream)('context inside a stream', 'OpenRouter: errors while streaming', {
    status: 400,
    code: 'exceed_context_size_error',
    message: 'request (66202 tokens) exceeds the available context size (65536 tokens)',
  }),
  refusal(NO_CREDIT, refusedInStream)('credit inside a stream', 'OpenRouter: errors while streaming', {
    status: 402,
    code: 'insufficient_quota',
    message: 'You exceeded your current quota',
  }),
];

const REFUSED = bad("This model's maximum context length is 8192 tokens.", 'context_length_exceeded');

/** A provider with a window of 30,000 characters, and a model that reads four pages. */
function reads({ wire }: Cell, index: number, longest: number, length: number): Reply {
  if (length > longest) return refused(wire, REFUSED);
  if (index > 6) return { parts: [{ text: 'done' }] };
  return { parts: [{ call: `call_${index}`, name: 't_page', arguments: `{"n":${index}}` }] };
}

const COMPACTED: readonly RunRow[] = [
  {
    through: 'run',
    kind: 'a run that is refused as too long goes on with less',
    rule: 'earendil-works/pi#4943: compaction and one more request',
    agent: 'small',
    says: (cell, index, { text }) => reads(cell, index, 30_000, text.length),
    expects: (run) => {
      assert.equal(run.status, 'completed', JSON.stringify(run.error));
      assert.equal(run.result, 'done');
    },
  },
  {
    through: 'run',
    kind: 'a run that is always refused ends',
    rule: 'as above, bounded: one more request after each refusal',
    says: (cell, index) => reads(cell, index, index === 0 ? Infinity : 0, 1),
    expects: (run, seen) => {
      assert.deepEqual([run.status, run.termination_reason], ['failed', 'context_length']);
      assert.equal(seen.length, 3);
    },
  },
];

/** The next model of the alias answers, after one request to the first. */
function nextAnswers(kind: string, rule: string, refusal: Refusal): ServiceRow {
  return {
    through: 'service',
    kind,
    rule,
    chained: true,
    asks: { max_retries: 3 },
    says: ({ wire }) => refused(wire, refusal),
    expects: (result, seen) => {
      assert.ok(result.ok, JSON.stringify(result));
      assert.equal((result.payload as { text: string }).text, NEXT_ANSWER);
      assert.equal(seen.length, 1, 'the first model was asked again');
    },
  };
}

const FALLBACKS: readonly ServiceRow[] = [
  nextAnswers(
    'without credit the next model answers',
    'code-yeongyu/oh-my-openagent#3610',
    bad('Your credit balance is too low to access the Anthropic API.'),
  ),
  nextAnswers(
    'a prompt that is too long for one model goes to the next',
    'LiteLLM: context_window_fallbacks; the next model may have a longer context',
    REFUSED,
  ),
];

/** Under load there are fewer requests, never more. */
function paused(kind: string, rule: string, headers: Record<string, string>): ServiceRow {
  return {
    through: 'service',
    kind,
    rule,
    waits: true,
    asks: { deadline_ms: 1_500, max_retries: 0 },
    says: () => json(429, { error: { message: 'slow down', code: 'rate_limit' } }, headers),
    expects: (result, seen) => {
      assert.equal(result.ok, false);
      assert.ok(seen.length <= 3, `${seen.length} requests in 1.5 s`);
    },
  };
}

const PAUSES: readonly ServiceRow[] = [
  paused('429 with Retry-After: 0', 'kubescape/kubevuln#755', { 'retry-after': '0' }),
  paused('429 with a past date', 'RFC 9110, 10.2.3: HTTP-date', {
    'retry-after': 'Wed, 21 Oct 2015 07:28:00 GMT',
  }),
  paused('429 with a reset of 6 ms', 'OpenAI: x-ratelimit-reset-requests', {
    'x-ratelimit-reset-requests': '6ms',
  }),
];

export const REFUSALS: readonly Row[] = [
  ...CONTEXT,
  ...CREDIT,
  ...LIMITS,
  ...STREAMED,
  ...COMPACTED,
  ...FALLBACKS,
  ...PAUSES,
];
