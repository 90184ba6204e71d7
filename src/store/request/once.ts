// Acceptance under a key: once in a window, once after a quiet time, or one at a time. Never decides which one counts:
// the script does, in the slot of the key.
import type { Once, ONCE_OUTCOMES } from '../../contract/directive/once.ts';
import { acceptArguments, keysTogether } from './acceptance-words.ts';
import type { Acceptance, AcceptOptions, JournalOptions } from './journal.ts';
import type { RunScript, ScriptReply } from '../scripts.ts';

/** One directive under a key. */
export interface OnceEntry {
  readonly acceptance: Acceptance;
  readonly once: Once;
  /** The same for each repeat of a submission. */
  readonly token: string;
  /** false: it may not begin, but what counts under the key may stand for it. */
  readonly hasRoom: boolean;
  /** Why the one is cancelled that it replaces. */
  readonly reason: string;
}

/** A directive under the key. `requestId`: inside the service. */
export interface OnceRef {
  readonly requestId: string;
  readonly id: string;
}

export type OnceVerdict =
  | {
      kind: 'ok';
      /** Milliseconds since the epoch, by the clock of Redis. */
      now: number;
      verdict: 'accepted' | 'existing';
      outcome: (typeof ONCE_OUTCOMES)[number];
      /** The directive that counts. */
      of: OnceRef;
      /** The instant of `OnceAnswer`, milliseconds since the epoch, by the clock of Redis. */
      untilAt: number;
      replaces: OnceRef | null;
      /** The sweeper must check it soon: it begins when another one has ended, or in steps at another instant now. */
      waits: boolean;
    }
  | { kind: 'open'; of: OnceRef; deadlineAt: number }
  | { kind: 'full' }
  | { kind: 'conflict'; id: string; storedDigest: string }
  | { kind: 'no_room'; bytes: number };

export type Released = { kind: 'released'; at: number } | { kind: 'held' | 'none' };

export interface OnceParts extends JournalOptions {
  run: RunScript;
  keptMs(requestId: string): number;
  mostBytes(requestId: string): number;
}

export function createOnce({ run, keys, keptMs, mostBytes, noteEnded, onEnd }: OnceParts) {
  /** `requestId`: where it begins, if it does. */
  async function acceptOnce(
    requestId: string,
    entry: OnceEntry,
    how: AcceptOptions = {},
  ): Promise<OnceVerdict> {
    const first = [keptMs(requestId), how.inbox ?? '', mostBytes(requestId)];
    const args = acceptArguments(requestId, [entry.acceptance], how, first, onceWords(entry));
    const ends = entry.acceptance.end !== undefined;
    if (ends) await noteEnded?.([requestId], 'perhaps');
    const reply = await run(
      'accept-once',
      [...keys.request(requestId), ...keysTogether(keys, how.together)],
      args,
    );
    const verdict = onceVerdict(requestId, reply);
    if (ends && verdict.kind === 'ok' && verdict.verdict === 'accepted') onEnd?.(requestId);
    return verdict;
  }

  /** A directive that waits for the end of another one may begin, where that has ended. */
  async function releaseOnce({ requestId, id }: OnceRef): Promise<Released> {
    const [kind, at] = await run('once-release', keys.request(requestId), [id]);
    return kind === 'released' ? { kind, at: Number(at) } : { kind: kind as 'held' | 'none' };
  }

  return { acceptOnce, releaseOnce };
}

/** ARGV[5..9] of accept-once.lua. */
function onceWords({ once, token, hasRoom, reason }: OnceEntry): (string | number)[] {
  return [...modeWords(once), token, hasRoom ? 1 : 0, reason];
}

/** How include-under-key.lua has it. */
export function modeWords(once: Once): [mode: string, ms: number | string] {
  switch (once.kind) {
    case 'dedupe':
      return ['dedupe', once.windowMs];
    case 'debounce':
      return ['debounce', once.atMostMs];
    case 'singleton':
      return [once.whenOpen, ''];
  }
}

export function onceVerdict(requestId: string, [kind, first, second, ...rest]: ScriptReply): OnceVerdict {
  const refOf = (part: unknown, id: unknown): OnceRef => ({
    requestId: `${requestId.slice(0, requestId.lastIndexOf('.'))}.${String(part)}`,
    id: String(id),
  });
  if (kind === 'conflict') return { kind, id: String(first), storedDigest: String(second) };
  if (kind === 'no_room') return { kind, bytes: Number(first) };
  if (kind === 'full') return { kind };
  if (kind === 'open') return { kind, of: refOf(first, second), deadlineAt: Number(rest[0]) };
  const [outcome, part, id, untilAt, replaced, replacedId, waits] = rest;
  return {
    kind: 'ok',
    now: Number(first),
    verdict: second as 'accepted' | 'existing',
    outcome: outcome as (typeof ONCE_OUTCOMES)[number],
    of: refOf(part, id),
    untilAt: Number(untilAt),
    replaces: replaced === '' ? null : refOf(replaced, replacedId),
    waits: waits === 1,
  };
}
