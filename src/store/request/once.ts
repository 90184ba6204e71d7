// Submissions under a key: once in a window, once after quiet, or one at a time.
// Must never decide which one counts: the script does, in the slot of the key.
import type { Once, ONCE_OUTCOMES } from '../../contract/directive/once.ts';
import type { KeySpace } from '../keys.ts';
import type { RunScript, ScriptReply } from '../scripts.ts';

/** The key under which a directive is accepted, or a run is started. */
export interface UnderKey {
  readonly once: Once;
  /** The same for each repeat of a submission. */
  readonly token: string;
  /** false: it may not begin, but what counts under the key may stand for it. */
  readonly hasRoom: boolean;
  /** The reason for which a directive is cancelled that this one replaces. */
  readonly reason?: string;
  /** How long a run may last, milliseconds. */
  readonly lastsMs?: number;
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

/** A directive, or a run (`@run`), that waits for the end of another one may begin, where that has ended. */
export async function releaseOnce(
  run: RunScript,
  keys: KeySpace,
  { requestId, id }: OnceRef,
): Promise<Released> {
  const [kind, at] = await run('once-release', keys.request(requestId), [id]);
  return kind === 'released' ? { kind, at: Number(at) } : { kind: kind as 'held' | 'none' };
}

/** As include-under-key.lua reads it; '' = there is no key. */
export function keyText(key: UnderKey | undefined): string {
  if (key === undefined) return '';
  const { once, token, hasRoom, reason, lastsMs } = key;
  return JSON.stringify({ ...modeOf(once), token, has_room: hasRoom, reason, lasts_ms: lastsMs });
}

function modeOf(once: Once): { mode: string; ms?: number } {
  switch (once.kind) {
    case 'dedupe':
      return { mode: 'dedupe', ms: once.windowMs };
    case 'debounce':
      return { mode: 'debounce', ms: once.atMostMs };
    case 'singleton':
      return { mode: once.whenOpen };
  }
}

/** `requestId`: where it begins, if it does. */
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
