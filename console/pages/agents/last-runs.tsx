/** Runs of an agent or a conversation, to go on with.
 *  It must never read more than a short list. */
import type { ListedRequest, RequestListing } from '../../../src/contract/request/request-listing.ts';
import { path } from '../../data/api.ts';
import { useRead } from '../../data/queries.ts';
import { Button } from '../../parts/button.tsx';
import { Instant } from '../../parts/instant.tsx';
import { Status } from '../../parts/status.tsx';
import { Text } from '../../parts/text.tsx';

const EVERY_MS = 5_000;

interface OpenRun {
  readonly onOpen: (requestId: string) => void;
}

export function LastRuns({ agent, onOpen }: OpenRun & { readonly agent: string }) {
  const { data } = useRead<RequestListing>(path`/v1/requests?agent=${agent}&limit=10`, { everyMs: EVERY_MS });
  const runs = data?.requests ?? [];
  if (runs.length === 0) return null;
  return (
    <section className="stack">
      <h2>Its last runs</h2>
      <Runs runs={runs} onOpen={onOpen} />
    </section>
  );
}

export interface EarlierRunsProps extends OpenRun {
  readonly conversationId: string;
  /** The one that is shown. */
  readonly requestId: string;
}

export function EarlierRuns({ conversationId, requestId, onOpen }: EarlierRunsProps) {
  const place = path`/v1/requests?conversation=${conversationId}&limit=20`;
  const { data } = useRead<RequestListing>(place, { keepOld: false });
  const others = (data?.requests ?? []).filter((run) => run.request_id !== requestId);
  if (others.length === 0) return null;
  return (
    <details className="agents-earlier">
      <summary className="muted">
        {others.length} other {others.length === 1 ? 'run' : 'runs'} of this conversation
      </summary>
      <Runs runs={others.toReversed()} onOpen={onOpen} />
    </details>
  );
}

function Runs({ runs, onOpen }: OpenRun & { readonly runs: readonly ListedRequest[] }) {
  return (
    <ul className="agents-runs">
      {runs.map(({ request_id, status, text, created_at }) => (
        <li key={request_id}>
          <Status of={status} />
          <Button look="ghost" className="agents-run" onClick={() => onOpen(request_id)}>
            <Text>{text === '' ? request_id : text.slice(0, 120)}</Text>
          </Button>
          <Instant at={created_at} />
        </li>
      ))}
    </ul>
  );
}
