/** How a command that follows its work ends on an interrupt: Ctrl-C cancels the work, after a question at a keyboard;
 *  a hang-up or SIGTERM leaves it running. Never leaves the person waiting for a service that does not answer. */
import { DirectiveRefused } from '../contract/problem.ts';
import { ADJUTANT } from './command-name.ts';
import { CliFailure, EXIT } from './failure.ts';
import type { Invocation } from './invocation.ts';
import { isHangUp, type Keyboard } from './keyboard.ts';
import { oneLine } from './terminal.ts';

/** How long to wait for cancelled work to end. */
const GRACE_MS = 5_000;

/** Accepted work that a command follows. Without an id: all of the request. */
export interface FollowedWork {
  readonly requestId: string;
  readonly id?: string;
  /** Others wait for it as well: an interrupt never cancels it. Default: false. */
  readonly isShared?: boolean;
  /** Called when a question begins and ends, so that nothing is drawn over it. */
  readonly quiet?: (asking: boolean) => void;
}

export interface OnInterrupt {
  /** Aborts when waiting ends: some time after a cancellation, at once when the work is left running. */
  readonly giveUp: AbortSignal;
  /** An interrupt, even an earlier one, now concerns this work. */
  watch(work: FollowedWork): void;
  /** Failure of a command that ends before its work. Throws an error without an interrupt: the request was closed too early. */
  unended(work: FollowedWork): CliFailure;
  [Symbol.dispose](): void;
}

export function onInterrupt({
  client,
  interrupt,
  keyboard,
}: Pick<Invocation, 'client' | 'interrupt' | 'keyboard'>): OnInterrupt {
  const end = new AbortController();
  const question = new AbortController();
  let patience: NodeJS.Timeout | undefined;
  let refusal: DirectiveRefused | null = null;
  let watched: FollowedWork | null = null;
  let isCancelled = false;

  function cancel({ requestId, id }: FollowedWork): void {
    isCancelled = true;
    // What cannot be cancelled, or has ended, reports its own end.
    client.cancel(requestId, id, { reason: 'interrupted at the terminal' }).catch((error: unknown) => {
      if (error instanceof DirectiveRefused) refusal = error;
    });
    patience ??= setTimeout(() => end.abort(), GRACE_MS);
  }

  async function interrupted(): Promise<void> {
    // The answer to a submission tells what there is to cancel.
    if (watched === null) patience ??= setTimeout(() => end.abort(), GRACE_MS);
    else if (watched.isShared !== true && (await isToCancel(watched))) cancel(watched);
    else end.abort();
  }

  async function isToCancel({ quiet }: FollowedWork): Promise<boolean> {
    if (isHangUp(interrupt)) return false;
    if (keyboard === null) return true;
    clearTimeout(patience);
    patience = undefined;
    quiet?.(true);
    const isMeant = await askWhether(keyboard, question);
    quiet?.(false);
    return isMeant;
  }

  const onAbort = (): void => void interrupted();
  interrupt.addEventListener('abort', onAbort, { once: true });
  if (interrupt.aborted) onAbort();
  return {
    giveUp: end.signal,
    watch: (work) => {
      watched = work;
      if (interrupt.aborted) onAbort();
    },
    unended: (work) => {
      if (!interrupt.aborted) throw new Error(`Request ${work.requestId} was closed before its work ended.`);
      return isCancelled ? unconfirmed(work, refusal) : leftRunning(work);
    },
    [Symbol.dispose]: () => {
      question.abort();
      clearTimeout(patience);
      interrupt.removeEventListener('abort', onAbort);
    },
  };
}

/** Whether the person cancels: types y, or Ctrl-C again. */
async function askWhether(keyboard: Keyboard, question: AbortController): Promise<boolean> {
  let isRepeated = false;
  const answer = await keyboard.ask('cancel it? [y]es, [N]o, leave it running (Ctrl-C cancels): ', {
    signal: question.signal,
    onInterrupt: () => {
      isRepeated = true;
      question.abort();
    },
  });
  return isRepeated || /^y(es)?$/i.test(answer?.trim() ?? '');
}

function unconfirmed(work: FollowedWork, refusal: DirectiveRefused | null): CliFailure {
  const why = refusal === null ? 'has not been confirmed' : `was refused: ${oneLine(refusal.message, 500)}`;
  return new CliFailure({
    what: `Interrupted; the cancellation ${why.replace(/\.$/, '')}.`,
    how: `See its state: ${ADJUTANT} get ${placeOf(work)}`,
    exitCode: EXIT.interrupted,
    ids: idsOf(work),
  });
}

/** The failure of a command that leaves its work running. */
export function leftRunning(work: FollowedWork): CliFailure {
  const follow = `Follow it: ${ADJUTANT} tail ${work.requestId}`;
  const cancel = work.isShared === true ? '' : `; cancel it: ${ADJUTANT} cancel ${placeOf(work)}`;
  return new CliFailure({
    what: `Interrupted; ${nameOf(work)} continues${work.isShared === true ? ' for others' : ''}.`,
    how: `${follow}${cancel}`,
    exitCode: EXIT.interrupted,
    ids: idsOf(work),
  });
}

const nameOf = ({ requestId, id }: FollowedWork): string =>
  id === undefined ? `request ${requestId}` : `${id} in request ${requestId}`;

const placeOf = ({ requestId, id }: FollowedWork): string =>
  id === undefined ? requestId : `${requestId} ${id}`;

const idsOf = ({ requestId, id }: FollowedWork): Record<string, string> => ({
  request_id: requestId,
  ...(id === undefined ? {} : { directive_id: id }),
});

/** Runs `reading`; a refusal of the key becomes a failure with an exit code of its own. */
export async function orUnread<T>(reading: () => Promise<T>, work: FollowedWork): Promise<T> {
  try {
    return await reading();
  } catch (error) {
    if (!(error instanceof DirectiveRefused) || !isOfKey(error)) throw error;
    const options = { cause: error };
    throw new CliFailure(
      {
        what: `Accepted as ${nameOf(work)}, and not followed: ${error.message}`,
        how: `Do not submit it again. With a key that has the scope read: ${ADJUTANT} get ${placeOf(work)}`,
        exitCode: EXIT.unread,
        ids: idsOf(work),
      },
      options,
    );
  }
}

function isOfKey({ problem: { code } }: DirectiveRefused): boolean {
  return code === 'forbidden' || code === 'unauthorized';
}
