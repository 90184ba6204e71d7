// What a model's tokens cost.
// Must never guess a price: without a configured price there is no cost.

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
