/** The newest lines that the program of a server has written to stderr, read when they are opened. Lines are text and nothing more. */
import { useState } from 'react';
import type { ServerOutput } from '../../../src/contract/tool/server-output.ts';
import { path } from '../../data/api.ts';
import { useRead } from '../../data/queries.ts';
import { useHasScope } from '../../data/session.ts';
import { ReadError } from '../../parts/banner.tsx';
import { Instant } from '../../parts/instant.tsx';
import { Text } from '../../parts/text.tsx';

const EVERY_MS = 3_000;

export function Output({ server }: { server: string }) {
  const [isOpen, open] = useState(false);
  const isAllowed = useHasScope('admin');
  if (!isAllowed) return null;
  return (
    <details onToggle={({ currentTarget }) => open(currentTarget.open)}>
      <summary className="muted">stderr</summary>
      {isOpen && <Lines server={server} />}
    </details>
  );
}

function Lines({ server }: { server: string }) {
  const { data, error } = useRead<ServerOutput>(path`/v1/servers/${server}/stderr`, { everyMs: EVERY_MS });
  if (error !== null) return <ReadError error={error} />;
  if (data === undefined) return null;
  if (data.lines.length === 0)
    return <p className="muted">Its program has written nothing to stderr in the last day.</p>;
  return (
    <div className="code">
      <ol className="tools-output" tabIndex={0} aria-label={`stderr of ${server}`}>
        {data.lines.map(({ at, worker, text, suppressed }, place) => (
          <li key={place} title={worker}>
            {suppressed !== undefined && <span className="tools-error">{suppressed} lines left out </span>}
            <span className="faint">
              <Instant at={at} />
            </span>{' '}
            <Text mono>{text}</Text>
          </li>
        ))}
      </ol>
    </div>
  );
}
