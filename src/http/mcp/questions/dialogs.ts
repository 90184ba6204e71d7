/** Asks the person behind an older client while its call is held: one question after the other, over its session.
 *  It must never ask what is over, nor what the client has put aside. */
import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { ServiceUnavailable } from '../../../contract/problem.ts';
import { MOST_UNFIT, notTaken } from '../calls/asked-leg.ts';
import type { CallQuestion } from '../calls/call-questions.ts';
import { type Elicitation, elicitationOf } from './elicitation.ts';
import { type AnswerParts, recordAnswer, type Recorded } from './host-answers.ts';
import { canAsk, type Host } from '../host.ts';
import type { QuestionListener } from './question-feed.ts';
import type { Place } from '../calls/tool-answer.ts';

export interface DialogParts extends AnswerParts {
  readonly place: Place;
  readonly host: Host;
  /** The tool of `Showing`. */
  readonly tool: string | null;
  /** Sends `elicitation/create`; the reason of an abort is what the client reads. */
  readonly send: (params: Elicitation & { elicitationId?: string }, signal: AbortSignal) => Promise<unknown>;
  /** Tells the client what has become of an answer. */
  readonly notice: (text: string) => void;
  readonly onError: (error: Error) => void;
  /** The client has gone, or the service ends. */
  readonly end: AbortSignal;
}

export interface Dialogs extends Disposable {
  /** null: the client cannot ask anybody. */
  readonly listener: QuestionListener | null;
  /** Whether the client shows a question now. */
  isAsking(): boolean;
}

const AGAIN_MS = 1_000;

export function createDialogs(parts: DialogParts): Dialogs {
  const { host, tool } = parts;
  const passed = new Set<string>();
  const faults = new Map<string, string>();
  let open: readonly CallQuestion[] = [];
  let current: { readonly ref: string; readonly over: AbortController } | null = null;
  let endOf: (ref: string) => string | null = () => null;
  let unfit = 0;

  function next(): void {
    if (current !== null) return;
    for (const question of open) {
      const { ref } = question;
      const params = passed.has(ref) ? null : elicitationOf(question, { host, tool, fault: faults.get(ref) });
      if (params === null) continue;
      current = { ref, over: new AbortController() };
      return void ask(ref, params, current.over.signal);
    }
  }

  async function ask(ref: string, params: Elicitation, over: AbortSignal): Promise<void> {
    const result = await shownBy(parts, params, over);
    try {
      // Who does not show it, or has gone, is not asked again; others may answer.
      if (result === undefined) passed.add(ref);
      else settle(ref, await recorded(parts, ref, result));
    } catch (error) {
      passed.add(ref);
      parts.onError(error as Error);
    }
    current = null;
    next();
  }

  function settle(ref: string, recorded: Recorded): void {
    if (recorded.kind === 'refused') parts.notice(notTaken(ref, recorded.why));
    if (recorded.kind === 'unfit') {
      unfit += 1;
      faults.set(ref, recorded.why);
    }
    if (recorded.kind !== 'unfit' || unfit >= MOST_UNFIT) passed.add(ref);
  }

  function changed(now: readonly CallQuestion[], howItEnded: (ref: string) => string | null): void {
    open = now;
    endOf = howItEnded;
    if (current !== null && !now.some(({ ref }) => ref === current?.ref)) withdraw('is over');
    next();
  }

  /** The client reads who was first. */
  function withdraw(otherwise: string): void {
    if (current !== null) current.over.abort(`the question ${endOf(current.ref) ?? otherwise}`);
  }

  return {
    listener: canAsk(host) ? { changed, enough: null } : null,
    isAsking: () => current !== null,
    [Symbol.dispose]() {
      open = [];
      withdraw('is over: the call has ended');
    },
  };
}

/** undefined: no answer has come back. */
async function shownBy({ send, end }: DialogParts, params: Elicitation, over: AbortSignal): Promise<unknown> {
  // Revision 2025-11-25 names a URL; the later ones do not.
  const named = params.mode === 'url' ? { ...params, elicitationId: randomUUID() } : params;
  return send(named, AbortSignal.any([over, end])).catch(() => undefined);
}

/** A person's answer is not lost while the service is unreachable. */
async function recorded(parts: DialogParts, ref: string, result: unknown): Promise<Recorded> {
  const { place, host, end } = parts;
  for (;;) {
    try {
      return await recordAnswer(parts, place, { ref, result, by: host.by });
    } catch (error) {
      if (!(error instanceof ServiceUnavailable) || end.aborted) throw error;
      await wait(error.retryAfterMs ?? AGAIN_MS, undefined, { signal: end }).catch(() => {});
    }
  }
}
