// A client that encrypts what it submits and decrypts what it reads: the service between never has the key.
// Must never send in clear what its caller means to be encrypted.
import { encodedIn, type PayloadCodec, PayloadUnreadable } from '../contract/encrypted.ts';
import type { DirectiveClient } from '../contract/directive-client.ts';
import { isObject } from '../contract/json-object.ts';
import { DirectiveRefused, problem } from '../contract/problem.ts';
import type { Signal } from '../contract/signal.ts';
import type { Submission } from '../contract/submission.ts';
import { type Asked, askedBy, decryptSealed, decryptSignal, decryptView } from './decrypted-signal.ts';
import { type EncryptedDirective, encryptDirectives, type Submitted } from './encrypted-directive.ts';
import { openerFor, RESULT_FIELD } from './encrypted-result.ts';
import { createOwnDirectives, NO_OWN, type OwnDirectives } from './own-directives.ts';

/** Reads what is encrypted, and sends what it is given. `own`: those that it knows to be encrypted. */
export function decryptingClient(
  client: DirectiveClient,
  codec: PayloadCodec,
  own: OwnDirectives = NO_OWN,
): DirectiveClient {
  const read = async <S extends Signal>(signal: S, asked: Asked | null): Promise<S> => {
    if (asked === null) return signal;
    return own.has(asked) ? decryptSealed(codec, signal, asked) : decryptSignal(codec, signal, asked);
  };
  const readOf = async (requestId: string, signal: Signal): Promise<Signal> => {
    const asked = askedBy(signal);
    return read(signal, asked && { ...asked, request: requestId });
  };
  return {
    ...client,
    submit: async (directives, options) => decryptSubmission(codec, await client.submit(directives, options)),
    execute: async (directive, options) => decryptSignal(codec, await client.execute(directive, options)),
    result: async (requestId, directiveId, options) => {
      const signal = await client.result(requestId, directiveId, options);
      return signal && read(signal, { request: requestId, id: directiveId });
    },
    signals: (requestId, options) =>
      each(client.signals(requestId, options), async (signal) => readOf(requestId, signal)),
    page: async (requestId, options) => {
      const page = await client.page(requestId, options);
      const signals = await Promise.all(page.signals.map(async (signal) => readOf(requestId, signal)));
      return { ...page, signals };
    },
    directive: async (requestId, directiveId) => {
      const view = await client.directive(requestId, directiveId);
      const asked = { request: requestId, id: directiveId };
      return view && decryptView(codec, view, asked, own.has(asked));
    },
    payload: async (requestId, directiveId) => {
      const payload = await client.payload(requestId, directiveId);
      const asked = { request: requestId, id: directiveId };
      const encoded = encodedIn(payload);
      if (encoded === null && own.has(asked))
        throw new PayloadUnreadable('in_clear', '', { ...asked, field: RESULT_FIELD });
      if (encoded === null) return payload;
      const value = await openerFor(codec, asked)(encoded, RESULT_FIELD);
      return isObject(value) ? value['payload'] : value;
    },
  };
}

/** Also encrypts. What cannot be encrypted is refused here, before it is sent: runs, schedules, other directive types. */
export function encryptingClient(client: DirectiveClient, codec: PayloadCodec): DirectiveClient {
  const own = createOwnDirectives();
  const encrypted = async (directives: Submitted, key: string | undefined) => {
    const given = Array.isArray(directives) ? directives : [directives];
    const made = await encryptDirectives(codec, given, key);
    own.add(made);
    return made;
  };
  return {
    ...decryptingClient(client, codec, own),
    submit: async (directives, options) => {
      const made = await encrypted(directives, options?.idempotencyKey);
      const given = Array.isArray(directives) ? made : (made[0] ?? []);
      return decryptSubmission(codec, await client.submit(given, options), made);
    },
    execute: async (directive, options) => {
      const [made] = await encrypted(directive, options?.idempotencyKey);
      if (made === undefined) throw new TypeError('There is no directive');
      return decryptSealed(codec, await client.execute(made, options), placeOf(made));
    },
    runs: {
      ...client.runs,
      start: async () => refused('A run', 'its engine reads the messages'),
      input: async () => refused('The input of a run', 'its engine reads it'),
    },
    schedules: {
      ...client.schedules,
      create: async () => refused('A schedule', NO_IDS),
      replace: async () => refused('A schedule', NO_IDS),
    },
  };
}

const NO_IDS = 'its directives have no ids before they are submitted';

function refused(what: string, why: string): never {
  const detail = `${what} cannot be encrypted: ${why}. Use a client without a codec to send it in clear.`;
  throw new DirectiveRefused(problem('invalid_body', { detail }));
}

/** `made`: what was encrypted for it, in the same order. */
async function decryptSubmission(
  codec: PayloadCodec,
  submission: Submission,
  made: readonly EncryptedDirective[] = [],
): Promise<Submission> {
  const directives = await Promise.all(
    submission.directives.map(async (entry, position) => {
      if (entry.result === undefined) return entry;
      const own = made[position];
      const result = own
        ? await decryptSealed(codec, entry.result, placeOf(own))
        : await decryptSignal(codec, entry.result);
      return { ...entry, result };
    }),
  );
  return { ...submission, directives };
}

/** Where its end must be. */
function placeOf(made: EncryptedDirective): Asked {
  return { request: made.request_id, id: made.id };
}

async function* each(
  signals: AsyncIterable<Signal>,
  read: (signal: Signal) => Promise<Signal>,
): AsyncGenerator<Signal> {
  for await (const signal of signals) yield await read(signal);
}
