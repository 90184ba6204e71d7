/** The agents that runs can use: what each is for, its model and its tools.
 *  It must never start a run: the page of an agent does. */
import { Link } from '@tanstack/react-router';
import type { AgentListing, ListedAgent } from '../../../src/contract/run/agent-listing.ts';
import { useRead } from '../../data/queries.ts';
import { safeText } from '../../data/safe-text.ts';
import { useWhyNot } from '../../data/session.ts';
import { ReadError } from '../../parts/banner.tsx';
import { Empty } from '../../parts/empty.tsx';
import { Page } from '../../parts/page.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { Text } from '../../parts/text.tsx';
import './agents.css';

const EVERY_MS = 10_000;

export function AgentsPage() {
  const canStart = useWhyNot('submit') === null;
  const { data, error, refetch } = useRead<AgentListing>('/v1/agents', { everyMs: EVERY_MS });
  return (
    <Page title="Agents" isPlace>
      {error !== null && <ReadError error={error} onRetry={() => void refetch()} />}
      {data?.agents.length === 0 && (
        <Empty title="No agent is known." command="npx adjutant engine">
          Agents of <code>adjutant.json</code> are listed while an engine runs.
        </Empty>
      )}
      {data !== undefined && data.agents.length > 0 && (
        <Table
          label="Agents"
          columns={canStart ? [...COLUMNS, START] : COLUMNS}
          rows={data.agents}
          keyOf={({ name }) => name}
        />
      )}
    </Page>
  );
}

const COLUMNS: readonly Column<ListedAgent>[] = [
  {
    name: 'Agent',
    cell: ({ name }) => (
      <Link className="agents-name" to="/agents/$agentName" params={{ agentName: name } as never}>
        <Text>{name}</Text>
      </Link>
    ),
  },
  {
    name: 'What it is for',
    isWide: true,
    cell: ({ description }) => (
      <span className="muted">
        <Text>{description.slice(0, 300)}</Text>
      </span>
    ),
  },
  { name: 'Model', isMinor: true, cell: ({ model }) => <Text>{model}</Text> },
  { name: 'Strategy', isMinor: true, cell: ({ strategy }) => <Text>{strategy}</Text> },
  { name: 'Tools', isMinor: true, cell: ({ tools }) => <Text>{toolsWords(tools)}</Text> },
];

/** Absent for keys that may not start a run. */
const START: Column<ListedAgent> = {
  name: 'New run',
  cell: ({ name }) => (
    <Link
      className="button"
      aria-label={`Start a run of ${safeText(name)}`}
      to="/agents/$agentName"
      params={{ agentName: name } as never}
    >
      Start a run
    </Link>
  ),
};

const MOST_PATTERNS = 3;

function toolsWords(tools: readonly string[]): string {
  if (tools.length === 0) return 'none';
  const more = tools.length > MOST_PATTERNS ? ` and ${tools.length - MOST_PATTERNS} more` : '';
  return `${tools.slice(0, MOST_PATTERNS).join(', ')}${more}`;
}
