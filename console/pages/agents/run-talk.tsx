/** A run as a talk: its conversation, live, what it waits for, and the composer below.
 *  It must never hide that a person is waited for. */
import { Link } from '@tanstack/react-router';
import type { RequestView } from '../../../src/contract/request/request-view.ts';
import { useShownLiveState } from '../../frame/live-state.tsx';
import { Banner, ReadError } from '../../parts/banner.tsx';
import { Status } from '../../parts/status.tsx';
import { Text } from '../../parts/text.tsx';
import { ConversationView } from '../request/conversation-view.tsx';
import { useRequest } from '../request/request-data.ts';
import { Composer } from './composer.tsx';
import { EarlierRuns } from './last-runs.tsx';
import { whoseRun } from './whose-run.ts';

export interface RunTalkProps {
  readonly agent: string;
  readonly requestId: string;
  readonly onStarted: (requestId: string) => void;
}

export function RunTalk({ agent, requestId, onStarted }: RunTalkProps) {
  const { view, error, log, conversation, retry } = useRequest(requestId);
  useShownLiveState(log.state);
  // The log of an open request is followed: one that has ended needs no view to be known as ended.
  const isRunning = log.state !== 'ended' && (view?.run === undefined || view.run.ended_at === null);
  const whose = whoseRun(view, agent);
  const conversationId = view?.run?.conversation_id ?? null;
  return (
    <div className="agents-talk">
      {error !== null && <ReadError error={error} onRetry={retry} />}
      <div className="row">
        {view?.run !== undefined && <Status of={view.run.status} />}
        <Link className="agents-link" to="/requests/$requestId" params={{ requestId } as never}>
          Open the request
        </Link>
      </div>
      {conversationId !== null && (
        <EarlierRuns conversationId={conversationId} requestId={requestId} onOpen={onStarted} />
      )}
      <div className="agents-conversation">
        <ConversationView conversation={conversation} size={log.size} requestId={requestId} />
      </div>
      <Asks run={view?.run} />
      {whose === 'other' && <OtherRun agent={view?.run?.agent} />}
      {whose === 'ours' && (
        <Composer agent={agent} talk={{ requestId, conversationId, isRunning }} onStarted={onStarted} />
      )}
    </div>
  );
}

/** The address names a request that this agent has no part in. */
function OtherRun({ agent }: { agent: string | undefined }) {
  if (agent === undefined) return <Banner tone="wait">This request has no run of an agent.</Banner>;
  return (
    <Banner tone="wait">
      This is a run of another agent:{' '}
      <Link
        className="agents-link"
        to="/agents/$agentName"
        params={{ agentName: agent } as never}
        search={(old: object) => old as never}
      >
        <Text>{agent}</Text>
      </Link>
    </Banner>
  );
}

/** A person decides in the inbox, with what is asked in front of it. */
function Asks({ run }: { run: RequestView['run'] }) {
  const asked = (run?.waiting_for ?? []).filter(({ kind }) => kind === 'approval' || kind === 'budget');
  if (asked.length === 0) return null;
  return (
    <Banner tone="wait">
      {asked.length === 1 ? 'A call waits' : `${asked.length} calls wait`} for a decision:{' '}
      <Link className="agents-link" to="/approvals">
        decide
      </Link>
    </Banner>
  );
}
