/** Gives a caller the answer of its call as the log has it: the provider's status, headers and bytes, or an error of the wire.
 *  It must never give the end of an answer before the run has noted it, nor join the answers of two attempts. */
import type { ApiReply } from '../../http/app.ts';
import { once } from 'node:events';
import type { DirectiveClient } from '../../contract/directive/directive-client.ts';
import { isObject } from '../../contract/json/json-object.ts';
import { familyOf, type ModelWire } from '../../contract/model/model-wire.ts';
import {
  type RawAnswer,
  rawAnswerSchema,
  type RawHead,
  type RawTurn,
  rawTurnSchema,
} from '../../contract/model/raw-answer.ts';
import { ServiceUnavailable } from '../../contract/problem.ts';
import { isTerminalSignal, type Signal, type TerminalSignal } from '../../contract/signal/signal.ts';
import type { Semaphore } from '../../platform/bounds/semaphore.ts';
import type { NextStep } from '../../platform/bounds/steps.ts';
import type { UnreadBudget } from '../../http/unread-budget.ts';
import type { ModelTarget } from './turns-of-run.ts';
import { errorBody, errorEvent, errorOfEnvelope, type WireError } from './wire-errors.ts';

export interface CallerOptions {
  readonly client: Pick<DirectiveClient, 'signals' | 'payload'>;
  readonly wire: ModelWire;
  readonly target: ModelTarget;
  /** First attempt whose answer is given. */
  readonly from: number;
  /** Headers of the service, beside those of the provider. */
  readonly headers: Readonly<Record<string, string>>;
  /** Aborts when the caller is gone, or the service stops. */
  readonly signal: AbortSignal;
  readonly unread: UnreadBudget;
  readonly nextStep: NextStep;
  /** Places for large answers, which are in memory as a whole. */
  readonly large: Semaphore;
  /** To be awaited before the end of a complete answer is given. */
  beforeEnd(turn: RawTurn): Promise<void>;
}

type RawSignal = Extract<Signal, { type: 'ai.llm.raw' }>;

/** The call may go on where the caller is gone or the service stops (`cut`), or where it got an error after a part (`broken`). */
export type Given = 'whole' | 'cut' | 'broken';

/** Rejects where nothing was given yet, and the log cannot be read. */
export async function answerCaller(reply: ApiReply, options: CallerOptions): Promise<Given> {
  const { client, target, signal } = options;
  const answer = createCallersAnswer(reply, options);
  try {
    for await (const each of client.signals(target.requestId, { signal })) {
      if ((each.data as { call_id?: unknown }).call_id !== target.directiveId) continue;
      if (each.type === 'ai.llm.raw' && !(await answer.take(each))) return 'broken';
      if (isTerminalSignal(each)) {
        await answer.end(each);
        return 'whole';
      }
    }
    if (signal.aborted) return 'cut';
    throw new ServiceUnavailable('The log of the call has ended without an answer.');
  } catch (error) {
    if (signal.aborted) return 'cut';
    if (!answer.isBegun()) throw error;
    answer.breakOff(LOST_LOG);
    return 'broken';
  }
}

const LOST_LOG: WireError = {
  status: 503,
  code: 'unavailable',
  message:
    'The service cannot read the rest of the answer at present; the call goes on, and a repeat joins it.',
  retryAfterSeconds: 1,
  isWorthRetry: true,
};

function createCallersAnswer(reply: ApiReply, options: CallerOptions) {
  const { client, wire, target, signal, unread, nextStep } = options;
  const headers = { 'cache-control': 'no-store', ...options.headers };
  const { raw } = reply;
  /** The attempt whose stream the caller reads; null: nothing was sent. */
  let attempt: number | null = null;

  function begin(head: RawHead, of: number): void {
    attempt = of;
    reply.hijack();
    raw.writeHead(head.status, { 'x-content-type-options': 'nosniff', ...head.headers, ...headers });
  }

  async function write(text: string): Promise<void> {
    if (text === '' || raw.destroyed) return;
    await nextStep(Buffer.byteLength(text));
    if (raw.write(text)) return;
    const release = unread.hold(raw.writableLength, () => raw.destroy());
    try {
      await once(raw, 'drain', { signal });
    } finally {
      release();
    }
  }

  /** After whole events, so that the caller reads an error and no broken event. */
  function breakOff(error: WireError): void {
    raw.end(errorEvent(wire, error));
  }

  async function sendWhole(
    { status, headers: own, body }: RawAnswer,
    more: Record<string, string> = {},
  ): Promise<void> {
    await reply
      .code(status)
      .headers({ ...own, ...headers, ...more })
      .serializer(String)
      .send(body);
  }

  /** The rest of a stream, or all of it where nothing of it came before. */
  async function sendRest(answer: RawAnswer, of: number): Promise<void> {
    if (attempt === null) begin(answer, of);
    await write(answer.body);
    raw.end();
  }

  async function fail(error: WireError): Promise<void> {
    if (attempt !== null) return breakOff(error);
    const { status, retryAfterSeconds, isWorthRetry } = error;
    await reply
      .code(status)
      .headers({
        ...headers,
        'content-type': 'application/json',
        ...(isWorthRetry ? {} : NO_RETRY),
        ...(retryAfterSeconds === null ? {} : { 'retry-after': String(retryAfterSeconds) }),
      })
      .serializer(String)
      .send(JSON.stringify(errorBody(familyOf(wire), error)));
  }

  /** Reads an answer of which the signal has the beginning only. */
  async function kept(bytes: number, of: number, metadata: object): Promise<void> {
    const { requestId, directiveId } = target;
    const read = async (): Promise<void> =>
      succeeded(await client.payload(requestId, directiveId), of, metadata);
    if (bytes <= SMALL_BYTES) return read();
    const patience = AbortSignal.any([signal, AbortSignal.timeout(PATIENCE_MS)]);
    if (!(await options.large.take(patience))) return signal.aborted ? undefined : fail(noPlace());
    // A caller that reads too slowly keeps others waiting; it gets the answer with its next try.
    const late = setTimeout(() => raw.destroy(), GIVEN_WITHIN_MS).unref();
    try {
      await read();
    } finally {
      clearTimeout(late);
      options.large.release();
    }
  }

  async function succeeded(payload: unknown, of: number, metadata: object): Promise<void> {
    const read = rawTurnSchema.safeParse(payload);
    if (!read.success || 'unreported' in metadata) return fail(notKept());
    const { raw: answer } = read.data;
    if (attempt !== null && (attempt !== of || !answer.streamed)) return fail(otherAttempt());
    await options.beforeEnd(read.data);
    return answer.streamed ? sendRest(answer, of) : sendWhole(answer);
  }

  return {
    isBegun: () => attempt !== null,
    breakOff,
    /** False: the answer was broken off. */
    async take({ data, attempt: of = 1 }: RawSignal): Promise<boolean> {
      if (of < options.from) return true;
      if (attempt !== null && of !== attempt) {
        breakOff(otherAttempt());
        return false;
      }
      if (attempt === null) begin(data.head ?? { status: 200, headers: EVENTS }, of);
      await write(data.text);
      return true;
    },
    async end(terminal: TerminalSignal): Promise<void> {
      const { data, attempt: of = 1 } = terminal as Extract<TerminalSignal, { type: 'ai.llm.response' }>;
      const { result } = data;
      if (result.ok) {
        const { payload } = result;
        return isTruncated(payload)
          ? kept(payload.bytes, of, data.metadata)
          : succeeded(payload, of, data.metadata);
      }
      const { answer, error } = {
        answer: rawAnswerSchema.safeParse(result.error.details['answer']),
        ...result,
      };
      // A refusal of the provider is its answer, and a later attempt has replaced that of an earlier one.
      if (answer.success && attempt === null && !answer.data.streamed)
        return sendWhole(answer.data, NO_RETRY);
      if (answer.success && answer.data.streamed && answer.data.body !== '' && (attempt ?? of) === of)
        return sendRest(answer.data, of);
      return fail(errorOfEnvelope(error));
    },
  };
}

/** SDKs repeat a failed call: the service has done so already. */
const NO_RETRY = { 'x-should-retry': 'false' };
const EVENTS = { 'content-type': 'text/event-stream' };

function isTruncated(payload: unknown): payload is { bytes: number } {
  return isObject(payload) && payload['truncated'] === true && typeof payload['bytes'] === 'number';
}

/** Answers up to this size need no place of their own. */
const SMALL_BYTES = 1_024 * 1_024;
/** Wait for a place, milliseconds. */
const PATIENCE_MS = 30_000;
/** The longest time in which a caller reads a large answer, milliseconds. */
const GIVEN_WITHIN_MS = 60_000;

function noPlace(): WireError {
  const message =
    'The service gives other large answers at present. The answer is kept: the same call, sent again, gets it.';
  return { status: 503, code: 'unavailable', message, retryAfterSeconds: 1, isWorthRetry: true };
}

/** Half an answer of one attempt and half of another are no answer. */
function otherAttempt(): WireError {
  const message =
    'The answer broke off, and the service asks the provider again: the same call, sent again, joins that attempt.';
  return { status: 503, code: 'interrupted', message, retryAfterSeconds: 1, isWorthRetry: true };
}

function notKept(): WireError {
  const message =
    'The answer was not kept whole: it is larger than a request may hold (limits.request_bytes).';
  return { status: 502, code: 'request_full', message, retryAfterSeconds: null, isWorthRetry: false };
}
