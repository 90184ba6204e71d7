/** Turns an interrupt from the keyboard into a cancellation of what the command has started.
 *  It must never leave the person waiting for a service that does not answer. */
import type { Invocation } from './invocation.ts';

/** How long to wait for cancelled work to end. */
const GRACE_MS = 5_000;

export interface CancelOnInterrupt {
  /** Aborts some time after the interrupt: waiting ends. */
  readonly giveUp: AbortSignal;
  /** From now on an interrupt, even an earlier one, cancels this. Without a directive: the whole request. */
  watch(requestId: string, directiveId?: string): void;
  [Symbol.dispose](): void;
}

export function cancelOnInterrupt({
  client,
  interrupt,
}: Pick<Invocation, 'client' | 'interrupt'>): CancelOnInterrupt {
  const patience = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  let cancel = async (): Promise<unknown> => null;
  const interrupted = (): void => {
    timer ??= setTimeout(() => patience.abort(), GRACE_MS);
    // What cannot be cancelled, or has ended, reports its own end.
    cancel().catch(() => {});
  };
  if (interrupt.aborted) interrupted();
  interrupt.addEventListener('abort', interrupted, { once: true });
  return {
    giveUp: patience.signal,
    watch: (requestId, directiveId) => {
      cancel = async () => client.cancel(requestId, directiveId, { reason: 'interrupted at the terminal' });
      if (interrupt.aborted) interrupted();
    },
    [Symbol.dispose]: () => {
      clearTimeout(timer);
      interrupt.removeEventListener('abort', interrupted);
    },
  };
}
