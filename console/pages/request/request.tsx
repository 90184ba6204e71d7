/** One request: its head, how it failed, and tabs for its timeline, conversation, signals and raw data.
 *  Never acts by itself: each button opens a dialog. */
import { Tabs } from '@base-ui/react/tabs';
import { useCanGoBack, useParams, useRouter } from '@tanstack/react-router';
import { useState } from 'react';
import type { RequestView } from '../../../src/contract/request/request-view.ts';
import { Refused } from '../../data/api.ts';
import { useUrlState } from '../../data/url-state.ts';
import { useShownLiveState } from '../../frame/live-state.tsx';
import { useKeys } from '../../keys/keymap.ts';
import { Json } from '../../parts/json.tsx';
import { ReadError } from '../../parts/banner.tsx';
import { Page } from '../../parts/page.tsx';
import { Announcement } from './announcement.tsx';
import { ConversationView } from './conversation-view.tsx';
import { FailureView, useFailedStep } from './failure-view.tsx';
import { type Failure, failureOf } from './failure.ts';
import { Divergences } from './foreign-run.tsx';
import { Inspector } from './inspector.tsx';
import { type Act, RequestActions, RequestDialogs } from './request-actions.tsx';
import { type RequestData, useRequest } from './request-data.ts';
import { RequestHead, titleOf } from './request-head.tsx';
import { SignalList } from './signal-list.tsx';
import { TimelineView } from './timeline-view.tsx';
import './request.css';

const TABS = [
  ['timeline', 'Timeline'],
  ['conversation', 'Conversation'],
  ['signals', 'Signals'],
  ['raw', 'Raw'],
] as const;

export function RequestPage() {
  const { requestId = '' }: { requestId?: string } = useParams({ strict: false });
  return <OneRequest key={requestId} requestId={requestId} />;
}

function isAbsent(error: Error): boolean {
  return error instanceof Refused && error.problem.status === 404;
}

/** Whether leaving the page would lose what a person writes. */
function isWriting(): boolean {
  const isWithin = document.activeElement?.closest('form') ?? null;
  return isWithin !== null || document.querySelector('form[data-unsent]') !== null;
}

/** Closes the step; without one, leaves the request. */
function useWayBack(): () => void {
  const [step, chooseStep] = useUrlState('step');
  const { history, navigate } = useRouter();
  const canGoBack = useCanGoBack();
  return () => {
    if (isWriting()) return;
    if (step !== '') chooseStep('');
    else if (canGoBack) history.back();
    else void navigate({ to: '/requests' });
  };
}

function OneRequest({ requestId }: { requestId: string }) {
  const data = useRequest(requestId);
  useKeys({ Escape: useWayBack() });
  const [asked, ask] = useState<Act | null>(null);
  const { view, timeline, error, log, conversation } = data;
  const failure = view === undefined ? null : failureOf(view, timeline, conversation.entries);
  useShownLiveState(log.state);
  useFailedStep(requestId, view !== undefined && timeline !== undefined, failure);
  const title = view === undefined ? requestId : titleOf(view, timeline);
  return (
    <Page
      title={title}
      head={view === undefined ? undefined : <Top view={view} data={data} failure={failure} onAsk={ask} />}
      isFull
    >
      {error !== null && (
        <div className="request-fault">
          <ReadError error={error} onRetry={data.retry} />
          {isAbsent(error) && (
            <p className="muted">
              Closed requests are forgotten after their retention, unless an archive keeps them. A request of
              another tenant is not shown either.
            </p>
          )}
        </div>
      )}
      <Announcement view={view} state={log.state} />
      {view !== undefined && (
        <>
          <RequestTabs view={view} data={data} failure={failure} onAsk={ask} />
          <RequestDialogs view={view} asked={asked} onClose={() => ask(null)} />
        </>
      )}
    </Page>
  );
}

interface TopProps {
  readonly view: RequestView;
  readonly data: RequestData;
  readonly failure: Failure | null;
  readonly onAsk: (act: Act) => void;
}

function Top({ view, data: { timeline, log }, failure, onAsk }: TopProps) {
  return (
    <>
      <div className="request-top">
        <RequestHead view={view} timeline={timeline} />
        <div className="row">
          <RequestActions view={view} hasFailed={failure !== null} onAsk={onAsk} />
        </div>
      </div>
      <Divergences signals={log.signals} />
      {failure !== null && <FailureView view={view} failure={failure} onAsk={onAsk} />}
    </>
  );
}

function RequestTabs({ view, data, failure, onAsk }: TopProps) {
  const [named, choose] = useUrlState('tab');
  const { log, conversation, timeline } = data;
  const hasTalk = view.run !== undefined || view.directives.some(({ type }) => type.startsWith('llm_'));
  const tabs = TABS.filter(([name]) => name !== 'conversation' || hasTalk);
  const tab = tabs.some(([name]) => name === named) ? named : 'timeline';
  return (
    <Tabs.Root
      className="request-tabs"
      value={tab}
      onValueChange={(value) => choose(value === 'timeline' ? '' : String(value))}
    >
      <Tabs.List className="request-tab-list" aria-label="Views of the request">
        {tabs.map(([name, text]) => (
          <Tabs.Tab key={name} value={name} className="request-tab">
            {text}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      <div className="request-body">
        <div className="request-main">
          <Tabs.Panel value="timeline" className="request-panel">
            {timeline !== undefined && <TimelineView timeline={timeline} />}
            <div className="request-log">
              <SignalList log={log} isSmall />
            </div>
          </Tabs.Panel>
          <Tabs.Panel value="conversation" className="request-panel">
            <ConversationView conversation={conversation} size={log.size} requestId={view.request_id} />
          </Tabs.Panel>
          <Tabs.Panel value="signals" className="request-panel">
            <SignalList log={log} />
          </Tabs.Panel>
          <Tabs.Panel value="raw" className="request-panel request-raw">
            <Json value={view} label="request" firstLines={300} />
            {timeline !== undefined && <Json value={timeline} label="timeline" firstLines={300} />}
          </Tabs.Panel>
        </div>
        <Inspector {...{ view, timeline, data, onAsk }} failedId={failure?.directiveId ?? null} />
      </div>
    </Tabs.Root>
  );
}
