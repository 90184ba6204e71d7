/** Reads a model call from its HTTP request: the wire by its path, the model, and whether the caller reads a stream.
 *  It must never check what only the provider knows: unknown members pass. */
import type { ApiRequest } from '../../http/app.ts';
import { isObject } from '../../contract/json/json-object.ts';
import { refusedAt } from '../../contract/json/field-error.ts';
import type { ModelWire } from '../../contract/model/model-wire.ts';
import { DirectiveRefused, problem } from '../../contract/problem.ts';
import type { ModelCall } from './turns-of-run.ts';

/** The body of a request to the endpoint, as its parser leaves it. */
export interface ReadBody {
  readonly text: string;
  readonly value: unknown;
}

/** Paths of the endpoint behind the name of the family, each with the wire of its requests. */
export const PATHS: readonly (readonly [path: string, wire: ModelWire])[] = [
  ['/openai/v1/chat/completions', 'openai_chat'],
  ['/openai/v1/responses', 'openai_responses'],
  ['/openai/v1/embeddings', 'openai_embeddings'],
  ['/anthropic/v1/messages', 'anthropic_messages'],
  ['/anthropic/v1/messages/count_tokens', 'anthropic_count_tokens'],
];

const GOOGLE_METHODS: ReadonlyMap<string, ModelWire> = new Map<string, ModelWire>([
  ['generateContent', 'google_generate'],
  ['streamGenerateContent', 'google_stream'],
  ['embedContent', 'google_embed'],
]);

/** The model and the wire in the rest of a path after `/google/v1beta/models/`. Throws `DirectiveRefused`. */
export function googlePath(rest: string): { model: string; wire: ModelWire } {
  const colon = rest.lastIndexOf(':');
  const method = rest.slice(colon + 1);
  const wire = GOOGLE_METHODS.get(method);
  if (colon > 0 && wire !== undefined) return { model: rest.slice(0, colon), wire };
  const methods = [...GOOGLE_METHODS.keys()].join(', ');
  throw new DirectiveRefused(
    problem('not_found', {
      detail: `the path ends in a model and one of ${methods}, as in models/name:generateContent`,
    }),
  );
}

/** `inPath`: the model, where the path names it. Throws `DirectiveRefused`. */
export function readCall({ body, query }: ApiRequest, wire: ModelWire, inPath: string | null): ModelCall {
  const { text, value } = body as ReadBody;
  if (!isObject(value)) throw refusedAt('invalid_body', [{ path: '', message: 'must be a JSON object' }]);
  const model = inPath ?? value['model'];
  if (typeof model !== 'string' || model === '' || model.length > 256) {
    const message =
      'must name a model in 1 to 256 characters: an alias, provider:model, or a name of the provider';
    throw refusedAt('invalid_body', [{ path: 'model', message }]);
  }
  // Without the parameter a stream of Google is one array.
  const isStreamed =
    wire === 'google_stream' ? (query as { alt?: unknown }).alt === 'sse' : value['stream'] === true;
  return { wire, model, body: text, members: value, isStreamed };
}
