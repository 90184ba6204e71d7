// The wires that a model request may be written in: the endpoint of each, and the providers that answer it.
// Must never name a wire that needs a translation: a request is passed on as it is.
import { BUILT_IN_PROVIDERS, type ModelTable } from './model-name.ts';

/** Wires of model requests, each with one endpoint of its provider's API. */
export const MODEL_WIRES = [
  'openai_chat',
  'openai_responses',
  'openai_embeddings',
  'anthropic_messages',
  'anthropic_count_tokens',
  'google_generate',
  'google_stream',
  'google_embed',
] as const;

/** Wire of a model request. */
export type ModelWire = (typeof MODEL_WIRES)[number];

/** Providers whose APIs have the same form. */
export type WireFamily = 'openai' | 'anthropic' | 'google';

/** The family of a wire. */
export function familyOf(wire: ModelWire): WireFamily {
  return wire.slice(0, wire.indexOf('_')) as WireFamily;
}

/** Types of providers that answer the wires of a family, the family's own first. */
const TYPES: Readonly<Record<WireFamily, readonly string[]>> = {
  openai: ['openai', 'openai-compatible', 'azure'],
  anthropic: ['anthropic'],
  google: ['google'],
};

/** Whether a provider of the type answers requests of the family. */
export function speaks(providerType: string, family: WireFamily): boolean {
  return TYPES[family].includes(providerType);
}

/** How to get a provider of a family where none is configured. */
export function missingProvider(family: WireFamily, providers: ModelTable['providers']): string {
  const key = BUILT_IN_PROVIDERS.get(family)?.at(-1) ?? 'its key';
  const isScripted = [...providers.values()].some(({ type }) => type === 'scripted');
  const remedy = `start the service with ${key}, or configure one with its \`base_url\` (docs/model-endpoint.md)`;
  return isScripted ? `${remedy}; ${OF_SCRIPTED}` : remedy;
}

/** A script is matched with the messages of directives, and its turns are in no provider's form. */
export const OF_SCRIPTED =
  'a scripted provider answers only `adjutant llm`, `adjutant ask` and directives, and `npm run demo -- agent` in a clone shows an agent without a key';

/** The operation of a wire, as spans and metrics name it. */
export function operationOfWire(wire: ModelWire): 'chat' | 'embeddings' {
  return wire === 'openai_embeddings' || wire === 'google_embed' ? 'embeddings' : 'chat';
}
