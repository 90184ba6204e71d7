// All that is open: what the sweeper cares for, and what begins later.
// Must never be trusted: the journal says what is really open.
import type { LaterIndex } from './later-index.ts';
import type { SweepIndex } from './sweep-index.ts';

export function openThings({
  index,
  later,
}: {
  index: Pick<SweepIndex, 'size'>;
  later: Pick<LaterIndex, 'size'>;
}): Pick<SweepIndex, 'size'> {
  return {
    async size(): Promise<number> {
      const [cared, waiting] = await Promise.all([index.size(), later.size()]);
      return cared + waiting;
    },
  };
}
