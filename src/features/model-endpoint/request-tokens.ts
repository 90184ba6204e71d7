/** Estimates of the tokens that a request may take, for limits and budgets.
 *  It must never read an image or a file as text. */
import { isObject } from '../../contract/json/json-object.ts';
import { estimatedTokens, mostTextTokens } from '../../models/answers/spent-tokens.ts';

/** Output tokens of a request that names no maximum. */
const DEFAULT_OUTPUT_TOKENS = 4_096;
/** Most answers to one request. */
const MOST_ANSWERS = 128;
/** Characters without a space that are data, not text. Matched at the start of a run only, so that the search is linear. */
const DATA = /(?<![A-Za-z0-9+/=_-])[A-Za-z0-9+/=_-]{4096,}/g;
const TOKENS_PER_FILE = 1_000;

export interface RequestTokens {
  /** An estimate of the input. */
  readonly input: number;
  /** More input than the body has, in nearly every language. */
  readonly mostInput: number;
  readonly mostOutput: number;
}

export function tokensOfRequest(body: string, operation: 'chat' | 'embeddings'): RequestTokens {
  let files = 0;
  const text = body.replace(DATA, () => {
    files += 1;
    return '';
  });
  const ofFiles = files * TOKENS_PER_FILE;
  return {
    input: estimatedTokens(text.length) + ofFiles,
    mostInput: mostTextTokens(text) + ofFiles,
    mostOutput: operation === 'embeddings' ? 0 : mostOutputOf(body),
  };
}

function mostOutputOf(body: string): number {
  const members: unknown = JSON.parse(body);
  if (!isObject(members)) return DEFAULT_OUTPUT_TOKENS;
  const { generationConfig: config, n } = members;
  const google = isObject(config) ? config : {};
  const { max_completion_tokens, max_output_tokens, max_tokens } = members;
  const given = [max_completion_tokens, max_output_tokens, max_tokens, google['maxOutputTokens']];
  const most = given.find((count) => typeof count === 'number' && count > 0) ?? DEFAULT_OUTPUT_TOKENS;
  const answers = [n, google['candidateCount']].find((count) => Number.isInteger(count)) ?? 1;
  return Number(most) * Math.min(Math.max(1, Number(answers)), MOST_ANSWERS);
}
