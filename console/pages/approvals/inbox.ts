/** Pending approvals and questions in the order of their deadlines, and the words for them.
 *  It must never read a clock. */
import { ENCRYPTED, encryptedAlone, encryptedNote } from '../../../src/contract/encrypted/encrypted-form.ts';
import type { ApprovalListing, OpenApproval } from '../../../src/contract/run/approval-listing.ts';
import { isObject } from '../../../src/contract/json/json-object.ts';
import type { Problem } from '../../../src/contract/problem.ts';
import { keyOf } from '../../data/tenant.ts';
import { durationText } from '../../data/shown.ts';

/** `input_id`: a call may ask several questions. */
export function itemKey(item: OpenApproval): string {
  return `${keyOf(item)}/${item.input_id ?? item.call_id}`;
}

/** Items of one bulk decision. */
export const MOST_CHOSEN = 100;

/** The oldest deadline first. */
export function inOrder(pages: readonly ApprovalListing[]): OpenApproval[] {
  const items = new Map(pages.flatMap(({ approvals }) => approvals).map((item) => [itemKey(item), item]));
  return [...items.values()].toSorted(
    (one, other) =>
      one.deadline_at.localeCompare(other.deadline_at) || itemKey(one).localeCompare(itemKey(other)),
  );
}

export function leftWords(deadlineAt: string, now: number): string {
  const left = Date.parse(deadlineAt) - now;
  return left > 0 ? `${durationText(left)} left` : 'its time is up';
}

const URGENT_MS = 5 * 60_000;

export function isUrgent(deadlineAt: string, now: number): boolean {
  return Date.parse(deadlineAt) - now < URGENT_MS;
}

/** Who decided otherwise before, as `already_decided` says it; null: the refusal says something else. */
export function decidedWords({ code, decided, detail }: Problem, now: number): string | null {
  if (code !== 'already_decided') return null;
  if (!isObject(decided)) return detail ?? 'A decision has been recorded already.';
  const { decision, by, decided_at: at } = decided;
  const what = decision === 'approve' ? 'Approved' : 'Denied';
  const when = typeof at === 'string' ? ` ${durationText(Math.max(0, now - Date.parse(at)))} ago` : '';
  return `${what}${when}${typeof by === 'string' ? ` by ${by}` : ''}`;
}

const HIDDEN = '[REDACTED]';

/** Why the arguments cannot be changed here; null: they can. */
export function noEditReason({
  kind,
  agent,
  arguments: text,
  arguments_cut: isCut,
}: OpenApproval): string | null {
  if (kind !== 'approval') return 'There are no arguments to edit.';
  if (agent === null) return 'A call without an agent is approved as it is: deny it, and submit another one.';
  if (text === null) return 'The arguments are not known here.';
  if (keyIdIn(text) !== null)
    return 'The arguments are encrypted: `adjutant approve --arguments --encrypt` can edit them.';
  if (isCut) return 'The arguments are too long to be edited here: `adjutant approve --arguments` can.';
  if (text.includes(HIDDEN))
    return 'The arguments hold secrets that are not shown: `adjutant approve --arguments` can edit them.';
  return null;
}

/** With indentation, where it is whole. */
export function shownArguments({ arguments: text, arguments_cut: isCut }: OpenApproval): string {
  if (text === null) return '';
  const keyId = keyIdIn(text);
  if (keyId !== null) return encryptedNote(keyId);
  if (isCut) return `${text}…`;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** null: they are not encrypted, or hold more. */
function keyIdIn(text: string | null): string | null {
  if (text?.startsWith(ENCRYPTED_START) !== true) return null;
  try {
    return encryptedAlone(JSON.parse(text));
  } catch {
    return null;
  }
}

const ENCRYPTED_START = `{"${ENCRYPTED}":`;

/** The subject of an item, in a few words. */
export function askedWords({ kind }: OpenApproval): string {
  switch (kind) {
    case 'approval':
      return 'wants to be called';
    case 'budget':
      return 'is used up: approving lets the run go on beyond it';
    case 'question':
      return 'asks a question';
  }
}
