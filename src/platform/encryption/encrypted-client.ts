// A client that encrypts what it submits and decrypts what it reads: the service between never has the key.
// Must never send in clear what its caller means to be encrypted.
import { decideEach } from '../../contract/run/bulk-decision.ts';
import { encodedIn, type PayloadCodec, PayloadUnreadable } from '../../contract/encrypted/encrypted.ts';
import type { DirectiveClient, RunCalls } from '../../contract/directive/directive-client.ts';
import { isObject } from '../../contract/json/json-object.ts';
import { ONCE_IN_CLEAR, type OnceFields, onceFieldOf } from '../../contract/directive/once.ts';
import { DirectiveRefused, problem } from '../../contract/problem.ts';
import type { SubmittedRun } from '../../contract/run/run.ts';
import { answeredRuns } from '../../contract/run/run-answer.ts';
import type { Signal } from '../../contract/signal/signal.ts';
import type { Submission } from '../../contract/directive/submission.ts';
import {
  type Asked,
  askedBy,
  decryptApproval,
  decryptRun,
  decryptRunEnd,
  decryptRunSignal,
  decryptSealed,
  decryptSignal,
  decryptView,
} from './decrypted-signal.ts';
import {
  type EncryptedDirective,
  encryptDirectives,
  INSTEAD,
  keyedIds,
  type Submitted,
} from './encrypted-directive.ts';
import { openerFor, RESULT_FIELD } from './encrypted-result.ts';
import { encodedOf, encryptDecision, encryptInput, encryptRun } from './encrypted-run.ts';
import { createOwnDirectives, NO_OWN, OWN_RUN, type OwnDirectives } from './own-directives.ts';

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
    const isEnd = signal.type === 'ai.request.completed' && own.has({ request: requestId, id: OWN_RUN });
    if (isEnd) return decryptRunEnd(codec, signal, requestId);
    if (encodedOf(signal) !== null) return decryptRunSignal(codec, signal, requestId);
    const asked = askedBy(signal);
    return read(signal, asked && { ...asked, request: requestId });
  };
  const signals: DirectiveClient['signals'] = (requestId, options) =>
    each(client.signals(requestId, options), async (signal) => readOf(requestId, signal));
  const request: DirectiveClient['request'] = async (requestId) => {
    const view = await client.request(requestId);
    if (view?.run === undefined) return view;
    const isOwn = own.has({ request: requestId, id: OWN_RUN });
    return { ...view, run: await decryptRun(codec, { ...view.run, run_id: requestId }, isOwn) };
  };
  return {
    ...client,
    signals,
    request,
    runs: answeredRuns(client.runs, { signals, request }),
    submit: async (directives, options) => decryptSubmission(codec, await client.submit(directives, options)),
    execute: async (directive, options) => decryptSignal(codec, await client.execute(directive, options)),
    result: async (requestId, directiveId, options) => {
      const signal = await client.result(requestId, directiveId, options);
      return signal && read(signal, { request: requestId, id: directiveId });
    },
    page: async (requestId, options) => {
      const page = await client.page(requestId, options);
      const signals = await Promise.all(page.signals.map(async (signal) => readOf(requestId, signal)));
      return { ...page, signals };
    },
    approvals: async (query) => {
      const page = await client.approvals(query);
      const approvals = await Promise.all(page.approvals.map(async (asked) => decryptApproval(codec, asked)));
      return { ...page, approvals };
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

/** Also encrypts. What cannot be encrypted is refused here, before it is sent: schedules, other directive types. */
export function encryptingClient(client: DirectiveClient, codec: PayloadCodec): DirectiveClient {
  const own = createOwnDirectives();
  const encrypted = async (directives: Submitted, key: string | undefined) => {
    const given = Array.isArray(directives) ? directives : [directives];
    const made = await encryptDirectives(codec, given, key);
    own.add(made);
    return made;
  };
  const reader = decryptingClient(client, codec, own);
  const runs: RunCalls = {
    start: async (run, options) => {
      const made = await encryptStart(codec, run, options?.idempotencyKey);
      own.add([{ request_id: made.request_id ?? '', id: OWN_RUN }]);
      return client.runs.start(made, options);
    },
    input: async (requestId, body) =>
      client.runs.input(requestId, await encryptInput(codec, requestId, body)),
    // The service refuses it for what is encrypted.
    resume: (requestId, body, options) => client.runs.resume(requestId, body, options),
    decide: async (requestId, callId, body) =>
      client.runs.decide(requestId, callId, await encryptDecision(codec, requestId, callId, body)),
    decideAll: async (body) => decideEach(runs.decide, body),
  };
  return {
    ...reader,
    runs: answeredRuns(runs, reader),
    submit: async (directives, options) => {
      const made = await encrypted(directives, options?.idempotencyKey);
      const given = Array.isArray(directives) ? made : (made[0] ?? []);
      return decryptSubmission(codec, await client.submit(given, options), made);
    },
    execute: (async (directive, options) => {
      const [made] = await encrypted(directive, options?.idempotencyKey);
      if (made === undefined) throw new TypeError('There is no directive');
      return decryptSealed(codec, await client.execute(made, options), placeOf(made));
    }) as DirectiveClient['execute'],
    again: async () => refused('A request that the service repeats', NOT_READ),
    fork: async () => refused('A fork that the service makes', NOT_READ),
    schedules: {
      ...client.schedules,
      create: async () => refused('A schedule', NO_IDS),
      replace: async () => refused('A schedule', NO_IDS),
    },
  };
}

/** With its id, for which it is encrypted. */
async function encryptStart(
  codec: PayloadCodec,
  run: SubmittedRun,
  idempotencyKey: string | undefined,
): Promise<SubmittedRun> {
  if (run.encrypted !== undefined) return run;
  const once = onceFieldOf(run as OnceFields);
  if (once !== undefined) {
    const errors = [{ path: once, message: `${ONCE_IN_CLEAR}; ${INSTEAD}` }];
    throw new DirectiveRefused(problem('invalid_body', { errors }));
  }
  const keyed = idempotencyKey === undefined ? undefined : await keyedIds(`run ${idempotencyKey}`);
  const request_id = run.request_id ?? keyed?.request ?? crypto.randomUUID();
  return (await encryptRun(codec, { ...run, request_id })) as SubmittedRun;
}

const NOT_READ = 'the service cannot read the original, which only its sender can submit again';
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
