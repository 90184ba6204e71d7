// Limits of models that all workers share: requests and tokens a minute, and the time a provider said to stay away.
// Must never wait, nor keep a limit that no configuration names.
import type { ModelRef } from '../../contract/model/model-name.ts';
import type { RedisConnection } from '../../platform/redis/connection.ts';
import { newIdentifier } from '../../platform/telemetry/identifier.ts';
import type { KeySpace } from '../keys.ts';
import { prepareScripts } from '../scripts.ts';

/** null = no such limit. */
export interface MinuteLimits {
  readonly requests: number | null;
  readonly tokens: number | null;
}

/** The limits of a model: those of its provider, over all its models, and its own. */
export interface LimitsOfModel {
  readonly provider: MinuteLimits;
  readonly model: MinuteLimits;
}

export interface RateLimitsOptions {
  connection: RedisConnection;
  keys: KeySpace;
  limitsOf(ref: ModelRef): LimitsOfModel;
  /** The longest pause that a provider may ask for, milliseconds. Default: no limit. */
  longestBlockMs?: number;
  /** Told when a correction could not be written; the estimate stays. */
  onError(error: Error): void;
  now?: () => number;
}

type Scope = 'provider' | 'model';

type Reserved =
  | { ok: true; record(actualTokens: number): void }
  | { ok: false; retryAfterMs: number; scope: Scope };

interface Bucket {
  name: string;
  scope: Scope;
  kind: 'requests' | 'tokens';
  perMinute: number;
}

/** Milliseconds since the epoch by scope; 0 = none. */
interface Blocks {
  provider: number;
  model: number;
}

/** Without limits nothing is asked of Redis, but for blocks by other workers: this old may what is known of them be. */
const BLOCKS_FRESH_MS = 1_000;
/** Model names come from callers: more than anybody uses are not remembered. */
const REMEMBERED_MODELS = 1_000;

export function createRateLimits(options: RateLimitsOptions) {
  const { connection, keys, limitsOf, onError, now = Date.now } = options;
  const run = prepareScripts(connection);
  const blocks = new Map<string, { askedAt: number; answer: Promise<Blocks> }>();

  async function reserve(ref: ModelRef, { tokens }: { tokens: number }): Promise<Reserved> {
    const buckets = bucketsOf(ref, limitsOf(ref));
    if (buckets.length === 0) return unlimited(ref);
    const estimate = count(tokens);
    const amounts = buckets.flatMap(({ name, scope, kind, perMinute }) => [
      name,
      scope,
      perMinute,
      kind === 'requests' ? 1 : estimate,
    ]);
    const [verdict, waitMs, scope] = await run('limit-reserve', keys.limits(ref), amounts);
    if (verdict === 'refused') return { ok: false, retryAfterMs: Number(waitMs), scope: scope as Scope };
    return { ok: true, record: recorder(ref, buckets, estimate) };
  }

  function recorder(ref: ModelRef, buckets: readonly Bucket[], estimate: number) {
    const ofTokens = buckets.filter(({ kind }) => kind === 'tokens');
    const reservation = newIdentifier();
    return (actualTokens: number): void => {
      const above = count(actualTokens) - estimate;
      if (above === 0 || ofTokens.length === 0) return;
      const [hash] = keys.limits(ref);
      const corrections = ofTokens.flatMap(({ name, perMinute }) => [name, perMinute, above]);
      run('limit-record', [hash, keys.settled(ref.provider, reservation)], corrections).catch(onError);
    };
  }

  async function unlimited(ref: ModelRef): Promise<Reserved> {
    const known = await knownBlocks(ref);
    const scope: Scope = known.model > known.provider ? 'model' : 'provider';
    const waitMs = Math.ceil(known[scope] - now());
    if (waitMs > 0) return { ok: false, retryAfterMs: waitMs, scope };
    return { ok: true, record: () => {} };
  }

  /** One read a second and model, however many ask. */
  function knownBlocks(ref: ModelRef): Promise<Blocks> {
    const known = blocks.get(ref.name);
    if (known && now() - known.askedAt < BLOCKS_FRESH_MS) return known.answer;
    const answer = readBlocks(ref);
    if (blocks.size >= REMEMBERED_MODELS) blocks.clear();
    blocks.set(ref.name, { askedAt: now(), answer });
    answer.catch(() => blocks.delete(ref.name));
    return answer;
  }

  async function readBlocks(ref: ModelRef): Promise<Blocks> {
    const [, provider, model] = keys.limits(ref);
    const [providerMs, modelMs] = await Promise.all([connection.pttl(provider), connection.pttl(model)]);
    const until = (ms: number): number => (ms > 0 ? now() + ms : 0);
    return { provider: until(providerMs), model: until(modelMs) };
  }

  async function block(ref: ModelRef, scope: Scope, ms: number): Promise<void> {
    const [, provider, model] = keys.limits(ref);
    const whole = Math.ceil(Math.min(ms, options.longestBlockMs ?? Infinity));
    if (!(whole > 0)) return;
    await run('limit-block', [scope === 'provider' ? provider : model], [whole]);
    blocks.clear();
  }

  return { reserve, block };
}

/** The limits of the provider and of the model itself, as far as there are any. */
function bucketsOf({ model }: ModelRef, limits: LimitsOfModel): Bucket[] {
  const bucket = (scope: Scope, kind: Bucket['kind']): Bucket[] => {
    const perMinute = limits[scope][kind];
    const name = scope === 'provider' ? kind : `${kind}|${model}`;
    return perMinute === null ? [] : [{ name, scope, kind, perMinute }];
  };
  return [
    ...bucket('provider', 'requests'),
    ...bucket('provider', 'tokens'),
    ...bucket('model', 'requests'),
    ...bucket('model', 'tokens'),
  ];
}

/** A number of tokens, whatever the provider's arithmetic made of it. */
function count(tokens: number): number {
  return Number.isFinite(tokens) ? Math.max(0, Math.ceil(tokens)) : 0;
}
