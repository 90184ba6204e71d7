/** Turns an interrupt from the keyboard into a cancellation of what the command has started.
 *  It must never leave the person waiting for a service that does not answer. */
import { DirectiveRefused } from '../contract/problem.ts';
import { ADJUTANT } from './command-name.ts';
import { CliFailure, EXIT } from './failure.ts';
import type { Invocation } from './invocation.ts';
import { oneLine } from './terminal.ts';

/** How long to wait for cancelled work to end. */
const GRACE_MS = 5_000;

export interface CancelOnInterrupt {
  /** Aborts some time after the interrupt: waiting ends. */
  readonly giveUp: AbortSignal;
  /** From now on an interrupt, even an earlier one, cancels this. Without a directive: the whole request. */
  watch(requestId: string, directiveId?: string): void;
  /** Failure of a cancellation whose effect was not observed. `how`: the command that shows it. */
  unconfirmed(how: string): CliFailure;
  [Symbol.dispose](): void;
}

export function cancelOnInterrupt({
  client,
  interrupt,
}: Pick<Invocation, 'client' | 'interrupt'>): CancelOnInterrupt {
  const patience = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  let refusal: DirectiveRefused | null = null;
  let cancel = async (): Promise<unknown> => null;
  const interrupted = (): void => {
    timer ??= setTimeout(() => patience.abort(), GRACE_MS);
    // What cannot be cancelled, or has ended, reports its own end.
    cancel().catch((error: unknown) => {
      if (error instanceof DirectiveRefused) refusal = error;
    });
  };
  if (interrupt.aborted) interrupted();
  interrupt.addEventListener('abort', interrupted, { once: true });
  return {
    giveUp: patience.signal,
    watch: (requestId, directiveId) => {
      cancel = async () => client.cancel(requestId, directiveId, { reason: 'interrupted at the terminal' });
      if (interrupt.aborted) interrupted();
    },
    unconfirmed: (how) => {
      const why =
        refusal === null ? 'has not been confirmed' : `was refused: ${oneLine(refusal.message, 500)}`;
      return new CliFailure({
        what: `Interrupted; the cancellation ${why.replace(/\.$/, '')}.`,
        how,
        exitCode: EXIT.interrupted,
      });
    },
    [Symbol.dispose]: () => {
      clearTimeout(timer);
      interrupt.removeEventListener('abort', interrupted);
    },
  };
}

/** Runs `reading`; a refusal of the key becomes a failure with an exit code of its own. */
export async function orUnread<T>(
  reading: () => Promise<T>,
  { requestId, id }: { readonly requestId: string; readonly id?: string },
): Promise<T> {
  try {
    return await reading();
  } catch (error) {
    if (!(error instanceof DirectiveRefused) || !isOfKey(error)) throw error;
    const accepted = id === undefined ? `request ${requestId}` : `${id} in request ${requestId}`;
    const place = id === undefined ? requestId : `${requestId} ${id}`;
    const options = { cause: error };
    throw new CliFailure(
      {
        what: `Accepted as ${accepted}, and not followed: ${error.message}`,
        how: `Do not submit it again. With a key that has the scope read: ${ADJUTANT} get ${place}`,
        exitCode: EXIT.unread,
        ids: { request_id: requestId, ...(id === undefined ? {} : { directive_id: id }) },
      },
      options,
    );
  }
}

function isOfKey({ problem: { code } }: DirectiveRefused): boolean {
  return code === 'forbidden' || code === 'unauthorized';
}
