// Has the list of requests built anew: starts it, then reports its progress. Never builds it itself: the processes of
// the service do, also after the caller has hung up.
import { randomUUID } from 'node:crypto';
import type { ReindexStep } from '../../contract/directive/bulk.ts';
import { DirectiveRefused, problem } from '../../contract/problem.ts';
import type { ChangedRequests } from '../index/changed-requests.ts';
import { pause } from '../../platform/lifecycle.ts';
import type { AskedList, ListBuild } from './list-build.ts';

export type Reindex = (cursor: string | undefined) => Promise<ReindexStep>;

/** Pause before an answer that more follows, so that no caller repeats without a pause. */
const STEP_MS = 250;
const RETRY_AFTER_MS = 5_000;

export function createReindex(
  build: Pick<ListBuild, 'ask' | 'state'>,
  changes: Pick<ChangedRequests, 'size'>,
): Reindex {
  return async (cursor) => {
    if (cursor === undefined) {
      const asked = await build.ask(randomUUID());
      if (asked.verdict !== 'asked') throw refusalOf(asked);
      return { noted: 0, pending: await changes.size(), next: cursorOf(0) };
    }
    const known = Number(cursor.split(':')[1]);
    let state = await build.state();
    if (!state.complete) {
      await pause(STEP_MS);
      state = await build.state();
    }
    return {
      noted: Math.max(0, state.found - known),
      pending: await changes.size(),
      next: state.complete ? null : cursorOf(state.found),
    };
  };
}

/** `found`: requests so far. The contract has a first number, too. */
function cursorOf(found: number): string {
  return `0:${found}`;
}

function refusalOf(asked: AskedList): DirectiveRefused {
  const detail = asked.verdict === 'under_way' ? underWay(asked.found) : NEWER;
  return new DirectiveRefused(problem('reindex_under_way', { detail, retry_after_ms: RETRY_AFTER_MS }));
}

const underWay = (found: number): string =>
  `The list is being built anew at the moment, ${found} requests so far. That ends by itself; the list says \`incomplete\` until then.`;

const NEWER =
  'The list is that of a newer version of the service, which this process does not replace: ask a process of that version. A day after ' +
  'the last one of it has ended, older ones build the list by themselves.';
