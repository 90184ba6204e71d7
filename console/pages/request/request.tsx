/** One request: its head, and tabs for its timeline, conversation, signals and raw data.
 *  It must never act without being asked. */
import { Tabs } from '@base-ui/react/tabs';
import { useParams } from '@tanstack/react-router';
import type { RequestView } from '../../../src/contract/request/request-view.ts';
import { useUrlState } from '../../data/url-state.ts';
import { useShownLiveState } from '../../frame/live-state.tsx';
import { Json } from '../../parts/code.tsx';
import { ErrorBanner } from '../../parts/banner.tsx';
import { Page } from '../../parts/page.tsx';
import { Announcement } from './announcement.tsx';
import { ConversationView } from './conversation-view.tsx';
import { Inspector } from './inspector.tsx';
import { RequestActions } from './request-actions.tsx';
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

function OneRequest({ requestId }: { requestId: string }) {
  const data = useRequest(requestId);
  const { view, timeline, error, log } = data;
  useShownLiveState(log.state);
  const title = view === undefined ? requestId : titleOf(view, timeline);
  return (
    <Page
      title={title}
      head={view === undefined ? undefined : <Top view={view} timeline={timeline} />}
      isFull
    >
      {error !== null && (
        <div className="request-fault">
          <ErrorBanner error={error} onRetry={data.retry} />
        </div>
      )}
      <Announcement view={view} state={log.state} />
      {view !== undefined && <RequestTabs view={view} data={data} />}
    </Page>
  );
}

function Top({ view, timeline }: Pick<RequestData, 'timeline'> & { view: RequestView }) {
  return (
    <div className="request-top">
      <RequestHead view={view} timeline={timeline} />
      <div className="row">
        <RequestActions view={view} />
      </div>
    </div>
  );
}

function RequestTabs({ view, data }: { view: RequestView; data: RequestData }) {
  const [named, choose] = useUrlState('tab');
  const tab = TABS.some(([name]) => name === named) ? named : 'timeline';
  const { log, conversation, timeline } = data;
  return (
    <Tabs.Root
      className="request-tabs"
      value={tab}
      onValueChange={(value) => choose(value === 'timeline' ? '' : String(value))}
    >
      <Tabs.List className="request-tab-list" aria-label="Views of the request">
        {TABS.map(([name, text]) => (
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
            <Json value={view} label="request" />
            {timeline !== undefined && <Json value={timeline} label="timeline" />}
          </Tabs.Panel>
        </div>
        <Inspector view={view} timeline={timeline} data={data} />
      </div>
    </Tabs.Root>
  );
}
