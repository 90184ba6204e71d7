/** Finds out whether a call of unknown outcome happened, and shows what was found.
 *  It must never make the call. */
import type { Reconciliation } from '../../../src/contract/tool/reconciliation.ts';
import { call, path } from '../../data/api.ts';
import { useChange } from '../../data/queries.ts';
import { useWhyNot } from '../../data/session.ts';
import { Banner, ErrorBanner } from '../../parts/banner.tsx';
import { Button } from '../../parts/button.tsx';
import { Json } from '../../parts/json.tsx';
import { Text } from '../../parts/text.tsx';

const FOUND: Readonly<Record<Reconciliation['outcome'], string>> = {
  happened: 'It happened, and is no dead letter any more. A resume of its run takes the result.',
  not_happened: 'It did not happen: it can be redriven.',
  unknown: 'The answer tells nothing.',
  pending: 'The tool has not answered yet. Ask again.',
};

export function FindOut({ requestId, directiveId }: { requestId: string; directiveId: string }) {
  const why = useWhyNot('redrive');
  const ask = useChange(async () =>
    call<Reconciliation>('POST', path`/v1/requests/${requestId}/directives/${directiveId}/reconcile`),
  );
  const found = ask.data;
  return (
    <div className="stack">
      <div className="row">
        <Button why={why} disabled={ask.isPending} onClick={() => ask.mutate(undefined)}>
          Find out whether it happened
        </Button>
      </div>
      {ask.error !== null && <ErrorBanner error={ask.error} />}
      {found !== undefined && (
        <Banner tone={found.outcome === 'unknown' || found.outcome === 'pending' ? 'wait' : 'plain'}>
          <p>
            {FOUND[found.outcome]} <Text mono>{found.tool}</Text>
            {found.reason !== null && <Text>{`: ${found.reason}`}</Text>}
          </p>
          {found.result !== undefined && <Json value={found.result} label="result that was found" />}
        </Banner>
      )}
    </div>
  );
}
