// The settings that the clients of all providers are created from: the address, the headers, and a fetch that sends the
// final request. Never shows a key.
import type { EmbeddingModelV4, LanguageModelV4 } from '@ai-sdk/provider';
import { type AnswerLimits, EMBEDDING_LIMITS, LANGUAGE_LIMITS } from './answers/answer-limits.ts';
import { guardedFetch } from './guarded-fetch.ts';
import type { RemoteOptions } from './requests/provider-options.ts';
import { withChangedBody } from './requests/request-params.ts';
import type { Wire } from './wires/wire.ts';

/** Creates the models of a provider. Throws for a model that the provider cannot have. */
export interface ModelMaker {
  language(model: string): LanguageModelV4;
  /** null: the provider has no embeddings. */
  embedding: ((model: string) => EmbeddingModelV4) | null;
}

/** Settings that every provider's client is created from. `language` and `embedding` differ in their size limits. */
export interface ClientSettings {
  readonly baseURL: string;
  readonly headers: Record<string, string>;
  readonly fetch: typeof fetch;
}

/** Two sets of settings, which differ in their size limits. */
export interface BothSettings {
  readonly key: string;
  readonly language: ClientSettings;
  readonly embedding: ClientSettings;
}

/** Settings of a provider whose requests differ from the others'. */
interface RequestSettings {
  /** Changes the headers of a request whose body is final. */
  readonly sign?: Sign;
  /** Further secrets. */
  readonly hidden?: readonly string[];
  readonly binaryFrames?: boolean;
  /** The form of the answers of language models; null: they are passed on as they are. Default: null. */
  readonly wire?: Wire | null;
}

export type Sign = (
  input: Parameters<typeof fetch>[0],
  init: RequestInit | undefined,
) => Promise<RequestInit | undefined>;

const unsigned: Sign = async (_input, init) => init;

export function clientSettings(
  options: RemoteOptions,
  baseURL: string,
  { sign = unsigned, hidden = [], binaryFrames = false, wire = null }: RequestSettings = {},
): BothSettings {
  const key = options.key() ?? '';
  const headers = { ...options.headers };
  const settings = (limits: AnswerLimits, form: Wire | null): ClientSettings => ({
    baseURL,
    headers,
    fetch: withChangedBody(async (input, init) => {
      const signed = await sign(input, init);
      const secrets = [key, ...Object.values(headers), ...hidden, ...bearerToken(signed)];
      return guardedFetch({ secrets, limits, wire: form, binaryFrames })(input, signed);
    }),
  });
  return { key, language: settings(LANGUAGE_LIMITS, wire), embedding: settings(EMBEDDING_LIMITS, null) };
}

/** Some are made for the request, and are in no configuration. */
function bearerToken(init: RequestInit | undefined): string[] {
  const authorization = new Headers(init?.headers).get('authorization');
  return authorization === null ? [] : [authorization.replace(/^Bearer /i, '')];
}
