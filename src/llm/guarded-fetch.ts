// fetch for a provider: what it refuses is passed on without the secrets that the refusal may repeat.
// Must never change an answer.
import { REDACTED } from '../contract/redaction.ts';

type Fetch = typeof globalThis.fetch;

/** Shorter texts are no secrets, and would be found everywhere. */
const SHORTEST_SECRET = 6;

/** `secrets`: texts that no error may show. */
export function guardedFetch(secrets: readonly string[]): Fetch {
  const hidden = secrets.filter(({ length }) => length >= SHORTEST_SECRET);
  return async (input, init) => {
    const response = await globalThis.fetch(input, init);
    if (response.ok || hidden.length === 0) return response;
    const text = await response.text();
    const { status, statusText, headers } = response;
    return new Response(without(hidden, text), { status, statusText, headers: safeHeaders(hidden, headers) });
  };
}

function without(secrets: readonly string[], text: string): string {
  return secrets.reduce((left, secret) => left.replaceAll(secret, REDACTED), text);
}

/** The body is decoded and may have another length. */
function safeHeaders(secrets: readonly string[], headers: Headers): Headers {
  const kept = [...headers].filter(([name]) => name !== 'content-encoding' && name !== 'content-length');
  return new Headers(kept.map(([name, value]): [string, string] => [name, without(secrets, value)]));
}
