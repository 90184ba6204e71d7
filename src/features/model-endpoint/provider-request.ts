/** The request to a provider: the caller's body and headers, the operator's credentials and parameters, the address of the wire.
 *  It must never pass on a credential of the caller, nor a header that is not listed. */
import type { LlmRequest } from '../../contract/directive/work-directive.ts';
import type { ModelRef } from '../../contract/model/model-name.ts';
import { familyOf, type ModelWire, operationOfWire } from '../../contract/model/model-wire.ts';
import { azureAddress } from '../../models/cloud-providers.ts';
import { OWN_URL } from '../../models/providers.ts';
import type { AzureOptions, RemoteProviderOptions } from '../../models/requests/provider-options.ts';
import {
  type ModelSettings,
  type Params,
  withConfiguredParams,
} from '../../models/requests/request-params.ts';
import { withModel } from './body-model.ts';

/** A provider whose API takes requests as they are. */
export type DirectProvider = RemoteProviderOptions | AzureOptions;

export interface ProviderRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Texts that no answer may show. */
  readonly secrets: readonly string[];
}

/** Request headers that providers read. Organisations and projects belong to a key, and are not among them. */
const PASSED_HEADERS: ReadonlySet<string> = new Set([
  'accept',
  'anthropic-beta',
  'anthropic-version',
  'openai-beta',
  'x-goog-api-client',
]);
/** Query parameters that providers read. */
const PASSED_QUERY: ReadonlySet<string> = new Set(['alt', 'beta']);

/** The listed members of the caller's headers, or query. */
export function passedOn(
  kind: 'headers' | 'query',
  given: Readonly<Record<string, unknown>>,
): Record<string, string> {
  const listed = kind === 'headers' ? PASSED_HEADERS : PASSED_QUERY;
  const entries = Object.entries(given).filter(
    (entry): entry is [string, string] => listed.has(entry[0]) && typeof entry[1] === 'string',
  );
  return Object.fromEntries(entries.map(([name, value]) => [name, value.slice(0, 1_024)]));
}

export function providerRequest(
  provider: DirectProvider,
  { model }: ModelRef,
  directive: LlmRequest,
  traceparent: string,
): ProviderRequest {
  const { wire } = directive;
  const key = provider.key() ?? '';
  const settings = provider.model(model);
  const named = familyOf(wire) === 'google' ? directive.body : withModel(directive.body, model);
  return {
    url: urlOf(provider, model, wire, passedOn('query', directive.query ?? {})),
    headers: {
      ...passedOn('headers', directive.headers ?? {}),
      'content-type': 'application/json',
      traceparent,
      ...credentials(provider, key),
      ...lowerCased(provider.headers),
    },
    body: withConfiguredParams(named, paramsOf(settings, wire), (name) => namesIn(wire, name)),
    secrets: [key, ...Object.values(provider.headers)],
  };
}

/** Vectors have no parameters of answers, and a count of tokens has none at all. */
function paramsOf({ params, configured = params }: ModelSettings, wire: ModelWire): Params {
  if (wire === 'anthropic_count_tokens') return {};
  if (operationOfWire(wire) === 'chat') return configured;
  const { max_tokens: _tokens, temperature: _temperature, ...others } = configured;
  return others;
}

/** The configuration's headers take precedence in any spelling. */
function lowerCased(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

function credentials({ type }: DirectProvider, key: string): Record<string, string> {
  if (key === '') return {};
  switch (type) {
    case 'anthropic':
      return { 'x-api-key': key };
    case 'google':
      return { 'x-goog-api-key': key };
    case 'azure':
      return { 'api-key': key };
    case 'openai':
    case 'openai-compatible':
      return { authorization: `Bearer ${key}` };
  }
}

const PATHS: Readonly<Record<ModelWire, (model: string) => string>> = {
  openai_chat: () => '/chat/completions',
  openai_responses: () => '/responses',
  openai_embeddings: () => '/embeddings',
  anthropic_messages: () => '/messages',
  anthropic_count_tokens: () => '/messages/count_tokens',
  google_generate: (model) => `/${googleModel(model)}:generateContent`,
  google_stream: (model) => `/${googleModel(model)}:streamGenerateContent`,
  google_embed: (model) => `/${googleModel(model)}:embedContent`,
};

/** A tuned model has a path of its own. The name was checked where it was read: it leads to no other path. */
function googleModel(model: string): string {
  return model.includes('/') ? model : `models/${model}`;
}

function urlOf(
  provider: DirectProvider,
  model: string,
  wire: ModelWire,
  query: Readonly<Record<string, string>>,
): string {
  const path = PATHS[wire](model);
  const more = new URLSearchParams(query);
  if (provider.type !== 'azure') {
    const base = (provider.baseUrl ?? OWN_URL[provider.type]).replace(/\/$/, '');
    return withQuery(`${base}${path}`, more);
  }
  const root = azureAddress(provider);
  if (provider.apiVersion === null) return withQuery(`${root}${path}`, more);
  more.set('api-version', provider.apiVersion);
  return withQuery(`${root}/deployments/${encodeURIComponent(model)}${path}`, more);
}

function withQuery(url: string, query: URLSearchParams): string {
  return query.size === 0 ? url : `${url}?${query.toString()}`;
}

/** The names of a directive's own parameters in the body of each wire; the first is set where none is present. */
const OWN_NAMES: Readonly<Partial<Record<ModelWire, Readonly<Record<string, readonly string[]>>>>> = {
  openai_chat: { max_tokens: ['max_tokens', 'max_completion_tokens'] },
  openai_responses: { max_tokens: ['max_output_tokens'] },
  google_generate: {
    max_tokens: ['generationConfig.maxOutputTokens'],
    temperature: ['generationConfig.temperature'],
  },
  google_stream: {
    max_tokens: ['generationConfig.maxOutputTokens'],
    temperature: ['generationConfig.temperature'],
  },
};

function namesIn(wire: ModelWire, name: string): readonly string[] {
  const names = OWN_NAMES[wire] ?? {};
  return Object.hasOwn(names, name) ? (names[name] ?? [name]) : [name];
}
