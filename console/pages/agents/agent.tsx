/** One agent: start a run of it, talk with it, and watch what it does.
 *  It must never send a text twice, nor lose one that was written. */
import { useParams } from '@tanstack/react-router';
import type { AgentListing, ListedAgent } from '../../../src/contract/run/agent-listing.ts';
import { useRead } from '../../data/queries.ts';
import { useUrlState } from '../../data/url-state.ts';
import { ReadError } from '../../parts/banner.tsx';
import { Button } from '../../parts/button.tsx';
import { Empty } from '../../parts/empty.tsx';
import { Page } from '../../parts/page.tsx';
import { Text } from '../../parts/text.tsx';
import { Composer } from './composer.tsx';
import { LastRuns } from './last-runs.tsx';
import { RunTalk } from './run-talk.tsx';
import './agents.css';

export function AgentPage() {
  const { agentName = '' } = useParams({ strict: false }) as { agentName?: string };
  const { data, error, refetch } = useRead<AgentListing>('/v1/agents');
  const [requestId, setRequest] = useUrlState('request');
  const agent = data?.agents.find(({ name }) => name === agentName);
  const start = requestId !== '' && <Button onClick={() => setRequest('')}>New conversation</Button>;
  return (
    <Page title={agentName} isFull head={<Head name={agentName} agent={agent} />} actions={start}>
      {error !== null && <ReadError error={error} onRetry={() => void refetch()} />}
      {data !== undefined && agent === undefined && (
        <Empty title="There is no agent of this name." command="npx adjutant agents" />
      )}
      {agent !== undefined && requestId === '' && (
        <div className="agents-new">
          <Composer agent={agentName} talk={null} onStarted={setRequest} />
          <LastRuns agent={agentName} onOpen={setRequest} />
        </div>
      )}
      {agent !== undefined && requestId !== '' && (
        <RunTalk key={requestId} agent={agentName} requestId={requestId} onStarted={setRequest} />
      )}
    </Page>
  );
}

function Head({ name, agent }: { name: string; agent: ListedAgent | undefined }) {
  return (
    <div className="agents-head">
      <h1>
        <Text>{name}</Text>
      </h1>
      {agent !== undefined && (
        <>
          <p className="muted">
            <Text>{agent.description}</Text>
          </p>
          <p className="agents-facts">
            <span className="muted">model</span> <Text>{agent.model}</Text>{' '}
            <span className="muted">strategy</span> <Text>{agent.strategy}</Text>{' '}
            <span className="muted">tools</span> <Text>{agent.tools.slice(0, 20).join(', ') || 'none'}</Text>
          </p>
        </>
      )}
    </div>
  );
}
