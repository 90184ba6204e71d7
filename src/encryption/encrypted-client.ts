// A client that encrypts what it submits and decrypts what it reads: the service between never has the key.
// Must never send in clear what its caller means to be encrypted.
import { type PayloadCodec, encodedIn } from '../contract/encrypted.ts';
import type { DirectiveClient } from '../contract/directive-client.ts';
import { isObject } from '../contract/json-object.ts';
import { DirectiveRefused, problem } from '../contract/problem.ts';
import type { Signal } from '../contract/signal.ts';
import type { Submission } from '../contract/submission.ts';
import { decryptSignal, decryptView } from './decrypted-signal.ts';
import { encryptDirectives, type Submitted } from './encrypted-directive.ts';
import { openerFor, RESULT_FIELD } from './encrypted-result.ts';

/** Reads what is encrypted, and sends what it is given. */
export function decryptingClient(client: DirectiveClient, codec: PayloadCodec): DirectiveClient {
  return {
    ...client,
    submit: async (directives, options) => decryptSubmission(codec, await client.submit(directives, options)),
    execute: async (directive, options) => decryptSignal(codec, await client.execute(directive, options)),
    result: async (requestId, directiveId, options) => {
      const signal = await client.result(requestId, directiveId, options);
      return signal && decryptSignal(codec, signal);
    },
    signals: (requestId, options) => decryptEach(codec, client.signals(requestId, options)),
    page: async (requestId, options) => {
      const page = await client.page(requestId, options);
      const signals = await Promise.all(page.signals.map(async (signal) => decryptSignal(codec, signal)));
      return { ...page, signals };
    },
    directive: async (requestId, directiveId) => {
      const view = await client.directive(requestId, directiveId);
      return view && decryptView(codec, view);
    },
    payload: async (requestId, directiveId) => {
      const payload = await client.payload(requestId, directiveId);
      const encoded = encodedIn(payload);
      if (encoded === null) return payload;
      const open = openerFor(codec, { request: requestId, id: directiveId });
      const value = await open(encoded, RESULT_FIELD);
      return isObject(value) ? value['payload'] : value;
    },
  };
}

/** Also encrypts. What cannot be encrypted is refused here, before it is sent: runs, schedules, other directive types. */
export function encryptingClient(client: DirectiveClient, codec: PayloadCodec): DirectiveClient {
  const reading = decryptingClient(client, codec);
  const encrypted = async (directives: Submitted, key: string | undefined) =>
    encryptDirectives(codec, Array.isArray(directives) ? directives : [directives], key);
  return {
    ...reading,
    submit: async (directives, options) => {
      const made = await encrypted(directives, options?.idempotencyKey);
      return reading.submit(Array.isArray(directives) ? made : (made[0] ?? []), options);
    },
    execute: async (directive, options) => {
      const [made] = await encrypted(directive, options?.idempotencyKey);
      return reading.execute(made ?? directive, options);
    },
    runs: {
      ...client.runs,
      start: async () => refused('A run', 'its engine reads the messages'),
      input: async () => refused('The input of a run', 'its engine reads it'),
    },
    schedules: {
      ...client.schedules,
      create: async () => refused('A schedule', 'its directives have no ids before they are submitted'),
    },
  };
}

function refused(what: string, why: string): never {
  const detail = `${what} cannot be encrypted: ${why}. Use a client without a codec to send it in clear.`;
  throw new DirectiveRefused(problem('invalid_body', { detail }));
}

async function decryptSubmission(codec: PayloadCodec, submission: Submission): Promise<Submission> {
  const directives = await Promise.all(
    submission.directives.map(async (entry) =>
      entry.result === undefined ? entry : { ...entry, result: await decryptSignal(codec, entry.result) },
    ),
  );
  return { ...submission, directives };
}

async function* decryptEach(codec: PayloadCodec, signals: AsyncIterable<Signal>): AsyncGenerator<Signal> {
  for await (const signal of signals) yield await decryptSignal(codec, signal);
}
