// The cost of a model's tokens. Never guesses a price: without a configured price there is no cost.

import type { PromptCache } from './requests/prompt-cache.ts';

/** US dollars for a million tokens. */
export interface ModelPrice {
  readonly input: number;
  readonly output: number;
  /** Input read from the provider's cache. */
  readonly cacheRead: number;
  /** Input written into the provider's cache. */
  readonly cacheWrite: number;
}

/** Tokens of one answer. `input` counts all input, cached or not; `output` includes reasoning. */
export interface PricedTokens {
  readonly input: number;
  readonly output: number;
  readonly cacheRead?: number;
  readonly cacheWrite?: number;
}

/** Anthropic's list has the same factors for all models: of tokens read, and of tokens written for 5 minutes or an hour. */
const READ_FACTOR = 0.1;
const WRITE_FACTORS = { '5m': 1.25, '1h': 2 } as const;

/** The prices of cached input where the configuration names none; without breakpoints, those of all input. */
export function cachePrices(input: number, cache: PromptCache): Pick<ModelPrice, 'cacheRead' | 'cacheWrite'> {
  if (cache === 'off' || cache === 'key') return { cacheRead: input, cacheWrite: input };
  return { cacheRead: input * READ_FACTOR, cacheWrite: input * WRITE_FACTORS[cache] };
}

const TOKENS_PER_PRICE = 1_000_000;
/** A millionth of a cent: smaller digits are errors of floating point. */
const DECIMALS = 8;

/** US dollars. */
export function costUsd(tokens: PricedTokens, price: ModelPrice): number {
  const { cacheRead = 0, cacheWrite = 0 } = tokens;
  const fresh = Math.max(0, tokens.input - cacheRead - cacheWrite);
  const sum =
    fresh * price.input +
    cacheRead * price.cacheRead +
    cacheWrite * price.cacheWrite +
    tokens.output * price.output;
  return Number((sum / TOKENS_PER_PRICE).toFixed(DECIMALS));
}
