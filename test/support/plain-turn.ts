/** A turn of a run that does nothing, as it is committed: tests say what is different in theirs.
 *  It must not have a version, nor a token: they decide whether a turn counts. */
import type { RunCommit } from '../../src/journal/run-journal.ts';

export function plainTurn(requestId: string): Omit<RunCommit, 'version' | 'token'> {
  return {
    requestId,
    inboxBytes: 0,
    readAt: Date.now(),
    document: '{}',
    spec: '',
    status: 'running',
    wakeAt: null,
    final: false,
    outbox: 0,
    inputsConsumed: 0,
    inputsHeld: 0,
    maxOpen: null,
    signals: [],
    directives: [],
  };
}
