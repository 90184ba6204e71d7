/** Follows the log of a call for the client that waits for it: its progress, and what it asks.
 *  It must never fail the call: the end of it is waited for elsewhere. */
import { setTimeout as wait } from 'node:timers/promises';
import type { DirectiveClient } from '../../../contract/directive/directive-client.ts';
import { ServiceUnavailable } from '../../../contract/problem.ts';
import { isTerminalSignal, type Signal } from '../../../contract/signal/signal.ts';
import type { Wait } from '../../../contract/request/waiting.ts';
import { type CallQuestion, callQuestions } from '../calls/call-questions.ts';
import type { ProgressRelay } from '../calls/progress-relay.ts';
import type { Place } from '../calls/tool-answer.ts';

export interface QuestionListener {
  /** All that is open now; `endOf` as in `CallQuestions`. */
  changed(open: readonly CallQuestion[], endOf: (ref: string) => string | null): void;
  /** Aborts when the client has something to answer and does not wait any longer; null: it waits to the end. */
  readonly enough: AbortSignal | null;
}

export interface QuestionFeed extends Disposable {
  hear(signal: Signal): void;
  /** All of the log has been read: before, a question that was answered long ago would seem open. */
  caughtUp(): void;
}

/** Questions that a tool asks at once arrive within this time. */
const GATHER_MS = 50;
const AGAIN_MS = 1_000;

export function questionFeed(listener: QuestionListener | null): QuestionFeed {
  const questions = callQuestions();
  let timer: NodeJS.Timeout | undefined;
  let isCaughtUp = false;
  const announce = (): void => {
    timer = undefined;
    listener?.changed(questions.open(), questions.endOf);
  };
  return {
    hear(signal) {
      const change = questions.hear(signal);
      if (!isCaughtUp) return;
      if (change === 'asked') timer ??= setTimeout(announce, GATHER_MS);
      // Nobody shall go on with what is over; what was asked a moment ago is still being gathered.
      if (change === 'ended' && timer === undefined) announce();
    },
    caughtUp() {
      isCaughtUp = true;
      // What a host still shows may be over.
      if (questions.open().length === 0) announce();
      else timer ??= setTimeout(announce, GATHER_MS);
    },
    [Symbol.dispose]: () => clearTimeout(timer),
  };
}

/** The log of a call from its beginning on, and each of it heard. */
export async function* heardSignals(
  client: Pick<DirectiveClient, 'signals'>,
  { requestId }: Place,
  feed: QuestionFeed,
  signal: AbortSignal,
): AsyncGenerator<Signal, void, undefined> {
  let after = 0;
  for await (const event of client.signals(requestId, { signal, follow: false })) {
    after = event.sequence;
    feed.hear(event);
    yield event;
  }
  feed.caughtUp();
  for await (const event of client.signals(requestId, { after, signal })) {
    feed.hear(event);
    yield event;
  }
}

export interface Hearing {
  readonly relay: ProgressRelay | null;
  readonly listener: QuestionListener | null;
}

/**
 * Resolves when the call has ended or `signal` aborts. Reads from the beginning: a client that comes back must get
 * greater values than before.
 */
export async function followCall(
  client: DirectiveClient,
  place: Place,
  hearing: Hearing,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    if (await followedToEnd(client, place, hearing, signal)) return;
    await wait(AGAIN_MS, undefined, { signal }).catch(() => {});
  }
}

/** False: the service was away. */
async function followedToEnd(
  client: DirectiveClient,
  place: Place,
  { relay, listener }: Hearing,
  signal: AbortSignal,
): Promise<boolean> {
  using feed = questionFeed(listener);
  try {
    for await (const event of heardSignals(client, place, feed, signal)) {
      if (relay !== null) report(event, place.requestId, relay);
      if (isTerminalSignal(event) && event.causationid === place.id) break;
    }
    return true;
  } catch (error) {
    return !(error instanceof ServiceUnavailable);
  }
}

function report({ type, data }: Signal, requestId: string, relay: ProgressRelay): void {
  if (type === 'ai.tool.progress') relay.report(data);
  else if (type === 'ai.tool.input_requested') relay.say(asksPerson(requestId, data.deadline_at));
  else if (type === 'directive.waiting') relay.say(waitText(data, requestId));
  else if (type === 'ai.tool.started' || type === 'ai.tool.input_answered') relay.resume();
}

function waitText({ reason, until, message }: Wait, requestId: string): string {
  if (reason === 'input_required') return asksPerson(requestId, until ?? undefined);
  return until === null ? message : `${message}, tried again at ${secondOf(until)}`;
}

/** With the command that shows the question, and how to answer it: the host may not be able to ask. */
export function asksPerson(requestId: string, deadlineAt?: string): string {
  return `a person is asked${untilText(deadlineAt)}: adjutant get ${requestId}`;
}

/** How long it can be answered. */
export function untilText(deadlineAt: string | undefined): string {
  return deadlineAt === undefined ? '' : `, until ${secondOf(deadlineAt)}`;
}

function secondOf(instant: string): string {
  return `${instant.slice(0, 19)}Z`;
}
