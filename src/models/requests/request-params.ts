// The parameters of a request as its model takes them: left out, renamed, fixed by the operator, or added by the caller.
// Must never let a caller change what the operator fixed.
import { AsyncLocalStorage } from 'node:async_hooks';
import type { EmbeddingModelV4, LanguageModelV4, LanguageModelV4CallOptions } from '@ai-sdk/provider';
import { isObject, ownMember, setOwnMember } from '../../contract/json/json-object.ts';
import { plainName } from '../../contract/model/provider-options.ts';
import { inInstructions, type StructuredOutput } from '../answers/structured-output.ts';

type Json = Readonly<Record<string, unknown>>;

/** Changes by the parameter's name: null leaves it out, `{ "as": name }` renames it, any other value sets it. */
export type Params = Json;

export interface ModelSettings {
  readonly params: Params;
  /** The configuration's among them, without those that are known of the model. Default: all. */
  readonly configured?: Params;
  readonly structuredOutput: StructuredOutput;
}

/** The two parameters that every directive has: their names in `params`, and in the calls of the clients. */
const OWN = [
  ['temperature', 'temperature'],
  ['max_tokens', 'maxOutputTokens'],
] as const;

/** Models that refuse parameters with status 400, by the end of their name after the last slash or the vendor's prefix. */
const KNOWN: readonly (readonly [models: RegExp, params: Params])[] = [
  // OpenAI's reasoning models: "Unsupported parameter: 'max_tokens' is not supported with this model."
  [
    /^(?:o[1-9]|gpt-(?:[5-9]|[1-9]\d)(?!\d))(?!.*-chat)/,
    { temperature: null, max_tokens: { as: 'max_completion_tokens' } },
  ],
  // Claude since Opus 4.7: "`temperature` is deprecated for this model."
  [/^claude-(?:opus-4[-.](?:[7-9]|[1-9]\d)(?!\d)|[a-z]+-(?:[5-9]|[1-9]\d)(?!\d))/, { temperature: null }],
  // Moonshot's: "invalid temperature: only 1 is allowed for this model".
  [/^kimi-(?:k2\.[5-9]|k[3-9]|for-coding)/, { temperature: null }],
];

/** OpenAI's, Anthropic's and Bedrock's own clients know their models; other servers pass on a name as they got it. */
export function knownParams(type: string, model: string): Params {
  if (type !== 'openai-compatible') return {};
  const name = (model.split('/').at(-1) ?? model).replace(/^.*(?:anthropic|openai)\./, '').toLowerCase();
  return KNOWN.find(([models]) => models.test(name))?.[1] ?? {};
}

interface Changes {
  readonly caller: Json;
  /** The directive's own parameters under the names of `params`. */
  readonly renamed: Json;
  /** The operator's, without the directive's own. */
  readonly params: Params;
}

const changing = new AsyncLocalStorage<Changes>();

type Fetch = typeof globalThis.fetch;

/** `send` with the body that the call's parameters make of it. */
export function withChangedBody(send: Fetch): Fetch {
  return async (input, init) => {
    const changes = changing.getStore();
    if (changes === undefined || typeof init?.body !== 'string') return send(input, init);
    if (Object.values(changes).every(isEmpty)) return send(input, init);
    return send(input, { ...init, body: changedBody(init.body, changes) });
  };
}

/** A model whose requests have the parameters of its settings, and those of the caller. */
export function withLanguageParams(
  model: LanguageModelV4,
  { params, structuredOutput }: ModelSettings,
  caller: Json,
): LanguageModelV4 {
  if (isEmpty(params) && isEmpty(caller) && structuredOutput === 'json_schema') return model;
  const others = withoutOwn(params);
  const sending = async <T>(
    options: LanguageModelV4CallOptions,
    send: (options: LanguageModelV4CallOptions) => PromiseLike<T>,
  ): Promise<T> => {
    const { own, renamed } = ownParams(options, params);
    const changed = inInstructions(own, structuredOutput);
    return changing.run({ caller, renamed, params: others }, async () => send(changed));
  };
  return {
    specificationVersion: model.specificationVersion,
    provider: model.provider,
    modelId: model.modelId,
    supportedUrls: model.supportedUrls,
    doGenerate: (options) => sending(options, (changed) => model.doGenerate(changed)),
    doStream: (options) => sending(options, (changed) => model.doStream(changed)),
  };
}

export function withEmbeddingParams(model: EmbeddingModelV4, params: Params, caller: Json): EmbeddingModelV4 {
  if (isEmpty(params) && isEmpty(caller)) return model;
  return {
    specificationVersion: model.specificationVersion,
    provider: model.provider,
    modelId: model.modelId,
    maxEmbeddingsPerCall: model.maxEmbeddingsPerCall,
    supportsParallelCalls: model.supportsParallelCalls,
    doEmbed: (options) =>
      changing.run({ caller, renamed: {}, params: withoutOwn(params) }, async () => model.doEmbed(options)),
  };
}

/** A body that a caller wrote, with the operator's parameters: each is known by the names that its API has for it. */
export function withConfiguredParams(
  body: string,
  params: Params,
  namesOf: (name: string) => readonly string[],
): string {
  if (isEmpty(params)) return body;
  const whole: unknown = JSON.parse(body, exactNumbers);
  if (!isObject(whole)) return body;
  for (const [name, rule] of Object.entries(params)) {
    const names = namesOf(name);
    const to = newName(rule);
    const present = names.filter((each) => memberAt(whole, each) !== undefined);
    if (to === null)
      for (const each of present.length === 0 ? [names[0] ?? name] : present)
        override(whole, placed(each, rule));
    else if (present[0] !== undefined) {
      const value = memberAt(whole, present[0]);
      for (const each of present) override(whole, placed(each, null));
      override(whole, { [to]: value });
    }
  }
  return JSON.stringify(whole);
}

/** The member at a path of names with dots. */
function memberAt(object: Json, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>((value, name) => (isObject(value) ? ownMember(value, name) : undefined), object);
}

function placed(path: string, value: unknown): Params {
  const [name = '', ...inner] = path.split('.');
  return { [name]: inner.length === 0 ? value : placed(inner.join('.'), value) };
}

function isEmpty(value: Json): boolean {
  return Object.keys(value).length === 0;
}

function withoutOwn(params: Params): Params {
  return Object.fromEntries(Object.entries(params).filter(([name]) => !OWN.some(([own]) => own === name)));
}

/** A client writes these two under the names of its API; a renamed one is written into the body instead. */
function ownParams(
  options: LanguageModelV4CallOptions,
  params: Params,
): { own: LanguageModelV4CallOptions; renamed: Json } {
  const own = { ...options };
  const renamed: Record<string, unknown> = {};
  for (const [name, member] of OWN) {
    const rule = ownMember(params, name);
    const value = own[member];
    if (rule === undefined || value === undefined) continue;
    if (typeof rule === 'number') own[member] = rule;
    else delete own[member];
    const to = newName(rule);
    if (to !== null) setOwnMember(renamed, to, value);
  }
  return { own, renamed };
}

/** null: the rule renames nothing. */
function newName(rule: unknown): string | null {
  if (!isObject(rule) || Object.keys(rule).length !== 1) return null;
  const to = ownMember(rule, 'as');
  return typeof to === 'string' ? to : null;
}

function changedBody(body: string, { caller, renamed, params }: Changes): string {
  const whole: unknown = JSON.parse(body, exactNumbers);
  if (!isObject(whole)) return body;
  add(whole, caller);
  override(whole, renamed);
  for (const [name, rule] of Object.entries(params)) {
    const to = newName(rule);
    if (to === null) override(whole, { [name]: rule });
    else if (Object.hasOwn(whole, name)) {
      const value = whole[name];
      delete whole[name];
      override(whole, { [to]: value });
    }
  }
  return JSON.stringify(whole);
}

/** Integers that a number cannot hold are written as they were. */
function exactNumbers(_name: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value !== 'number' || Number.isSafeInteger(value) || context?.source === undefined) return value;
  const { rawJSON } = JSON as { rawJSON?: (text: string) => unknown };
  return Number.isInteger(value) && rawJSON ? rawJSON(context.source) : value;
}

/** A caller's members: they add to an object of the request, however its name is spelled, but never replace it. */
function add(into: Record<string, unknown>, members: Json): void {
  for (const [name, member] of Object.entries(members)) {
    const [known = name] = spellingsOf(into, name);
    const before = ownMember(into, known);
    if (!isObject(before)) setOwnMember(into, known, member);
    else if (isObject(member)) add(before, member);
  }
}

/** The operator's members: null removes one, objects are merged, and nothing stays beside them in another spelling. */
function override(into: Record<string, unknown>, members: Json): void {
  for (const [name, member] of Object.entries(members)) {
    for (const other of spellingsOf(into, name)) if (other !== name) delete into[other];
    const before = ownMember(into, name);
    if (member === null) delete into[name];
    else if (isObject(member)) {
      const inner = isObject(before) ? before : {};
      override(inner, member);
      setOwnMember(into, name, inner);
    } else setOwnMember(into, name, member);
  }
}

/** Google reads `safety_settings` and `safetySettings` alike. */
function spellingsOf(object: Json, name: string): string[] {
  const plain = plainName(name);
  return Object.keys(object).filter((other) => plainName(other) === plain);
}
