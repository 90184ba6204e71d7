/** The outcome of a redrive: directives that run again, and refusals with their reasons.
 *  It must never call something redriven that was not. */
import { Link } from '@tanstack/react-router';
import type { Redrive } from '../../../src/contract/directive/dead-letter.ts';
import { Text } from '../../parts/text.tsx';

const MOST_SHOWN = 10;

export function RedriveDone({ redrive: { redriven, refused, not_found: gone } }: { redrive: Redrive }) {
  const requests = [...new Set(redriven.map(({ to }) => to.request_id))];
  return (
    <div className="stack" role="status">
      <p>
        {redriven.length} redriven, {refused.length} refused, {gone.length} not there any more.
      </p>
      {refused.slice(0, MOST_SHOWN).map(({ from, code, detail }) => (
        <p key={`${from.request_id}/${from.id}`} className="dead-refused">
          <Text mono>{`${from.request_id}/${from.id}`}</Text> <code>{code}</code> <Text>{detail}</Text>
        </p>
      ))}
      <ul className="stack">
        {requests.slice(0, MOST_SHOWN).map((requestId) => (
          <li key={requestId}>
            <Link className="dead-link" to="/requests/$requestId" params={{ requestId } as never}>
              <Text mono>{requestId}</Text>
            </Link>
          </li>
        ))}
      </ul>
      {requests.length > MOST_SHOWN && (
        <p className="muted">and {requests.length - MOST_SHOWN} more requests</p>
      )}
    </div>
  );
}
