// All that is open: what the sweeper cares for, and what begins later.
// Must never be trusted: the journal says what is really open.
import type { LaterIndex } from '../index/later-index.ts';
import type { SweepIndex } from '../index/sweep-index.ts';

export function openThings({
  index,
  later,
}: {
  index: Pick<SweepIndex, 'size' | 'sizeOfService'>;
  later: Pick<LaterIndex, 'size'>;
}) {
  return {
    /** Without notices of ends and their deliveries. Up to `few` they may be counted along: Redis has less to do. */
    async size(few = 0): Promise<number> {
      const [cared, waiting] = await Promise.all([index.size(), later.size()]);
      const all = cared + waiting;
      return all <= few ? all : all - (await index.sizeOfService(cared));
    },
  };
}
