// Whether what is sent to a run is encrypted as the run is.
// Must never let text in clear into the log of a run whose messages are encrypted.
import { refusedAt } from '../contract/field-sentence.ts';
import { isObject } from '../contract/json-object.ts';
import type { RunJournal } from '../journal/run-journal.ts';

interface Sent {
  /** Of the text, in the body. */
  readonly path: string;
  readonly isEncrypted: boolean;
}

/** Throws `DirectiveRefused`. */
export async function requireSealing(
  runs: Pick<RunJournal, 'spec'>,
  requestId: string,
  { path, isEncrypted }: Sent,
): Promise<void> {
  const text = await runs.spec(requestId);
  if (text === null || isSealed(text) === isEncrypted) return;
  const message = isEncrypted
    ? 'must be in clear: the run is not encrypted'
    : 'must be encrypted, as the run is: send it with a client that has its key';
  throw refusedAt('invalid_body', [{ path, message }]);
}

function isSealed(text: string): boolean {
  // A run in clear may be large, and need not be read: only one that is encrypted has these members.
  if (!text.includes('"$encrypted"')) return false;
  const spec = parsed(text);
  return isObject(spec) && isSealedSpec(spec);
}

function isSealedSpec(spec: { readonly encrypted?: unknown; readonly sealed?: unknown }): boolean {
  return spec.encrypted !== undefined || spec.sealed !== undefined;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
