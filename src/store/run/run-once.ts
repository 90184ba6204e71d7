// Runs under a key: once in a window, once after quiet, or one at a time.
// Must never decide which one counts: the script does, in the slot of the key.
import type { Once } from '../../contract/directive/once.ts';
import { announced, keysTogether } from '../request/acceptance-words.ts';
import type { WithAcceptance } from '../request/journal.ts';
import type { KeySpace } from '../keys.ts';
import { modeWords, type OnceVerdict, onceVerdict, type Released } from '../request/once.ts';
import { type NewRun, startWords } from './run-start-words.ts';
import type { RunScript } from '../scripts.ts';

export interface RunOnce {
  readonly once: Once;
  /** The same for each repeat of a submission. */
  readonly token: string;
  /** false: it may not begin, but what counts under the key may stand for it. */
  readonly hasRoom: boolean;
  /** How long it may last, milliseconds. */
  readonly lastsMs: number;
}

export interface RunOnceParts {
  run: RunScript;
  keys: KeySpace;
  mostBytes(requestId: string): number;
}

export function createRunOnce({ run, keys, mostBytes }: RunOnceParts) {
  /** `started.requestId`: where it begins, if it does. `together`: as in `start`. */
  async function startOnce(
    started: NewRun,
    { once, token, hasRoom, lastsMs }: RunOnce,
    together?: WithAcceptance,
  ): Promise<OnceVerdict> {
    const { requestId } = started;
    const words = [...modeWords(once), token, hasRoom ? 1 : 0, lastsMs];
    const args = [...startWords(started, mostBytes(requestId)), ...words, ...announced(together)];
    const ofAll = [...keys.request(requestId), ...keysTogether(keys, together)];
    return onceVerdict(requestId, await run('run-start-once', ofAll, args));
  }

  /** A run that waits for the end of another one may begin, where that has ended. */
  async function release(requestId: string): Promise<Released> {
    const [kind, at] = await run('once-release', keys.request(requestId), ['@run']);
    return kind === 'released' ? { kind, at: Number(at) } : { kind: kind as 'held' | 'none' };
  }

  return { startOnce, release };
}
