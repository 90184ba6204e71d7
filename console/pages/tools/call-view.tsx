/** One call of a tool, from its place in the lane to its result, live.
 *  It must never start a call: it watches one. */
import { Link } from '@tanstack/react-router';
import { call, path } from '../../data/api.ts';
import { useChange } from '../../data/queries.ts';
import { useWhyNot } from '../../data/session.ts';
import { durationText } from '../../data/shown.ts';
import { useSignals } from '../../data/use-signals.ts';
import { useShownLiveState } from '../../frame/live-state.tsx';
import { Banner, ErrorBanner } from '../../parts/banner.tsx';
import { Button } from '../../parts/button.tsx';
import { Json } from '../../parts/json.tsx';
import { ResultView } from '../../parts/result-view.tsx';
import { Status } from '../../parts/status.tsx';
import { Text } from '../../parts/text.tsx';
import { type CallError, type CallState, callState } from './call-state.ts';

export interface CallViewProps {
  readonly requestId: string;
  readonly callId: string;
}

export function CallView({ requestId, callId }: CallViewProps) {
  const { signals, state: live, error } = useSignals(requestId);
  useShownLiveState(live);
  const state = callState(signals, callId);
  const isOver = state.endedAt !== null;
  return (
    <section className="tools-call" aria-label="The call">
      <div className="row">
        <Status of={state.status} />
        <span className="muted">{tookWords(state)}</span>
        <Link className="tools-link" to="/requests/$requestId" params={{ requestId } as never}>
          Open the request
        </Link>
        <span className="spread">{!isOver && <CancelButton requestId={requestId} />}</span>
      </div>
      {error !== null && <ErrorBanner error={error} />}
      {!isOver && <Progress of={state} />}
      {state.questions > 0 && (
        <Banner tone="wait">The tool asks a question: open the request to answer it.</Banner>
      )}
      {state.error !== null && <Failure error={state.error} />}
      {state.payload !== undefined && (
        <ResultView payload={state.payload} requestId={requestId} callId={callId} />
      )}
    </section>
  );
}

/** The instants may be those of two clocks. */
function tookWords({ startedAt, endedAt, durationMs }: CallState): string {
  if (startedAt === null || endedAt === null) return '';
  return durationText(durationMs ?? Math.max(0, Date.parse(endedAt) - Date.parse(startedAt)));
}

function Progress({ of: { progress, message, status } }: { of: CallState }) {
  const value =
    progress?.total === null || progress === null ? {} : { value: progress.done / progress.total };
  const words =
    progress === null ? '' : `${progress.done}${progress.total === null ? '' : ` of ${progress.total}`}`;
  return (
    <div className="tools-progress" role="status">
      {(status === 'running' || progress !== null) && (
        <progress {...value} aria-label="Progress of the tool" />
      )}
      <span className="num">{words}</span> <Text>{message}</Text>
    </div>
  );
}

function CancelButton({ requestId }: { requestId: string }) {
  const why = useWhyNot('cancel');
  const cancel = useChange(() => call('POST', path`/v1/requests/${requestId}/cancel`, { body: {} }));
  return (
    <>
      <Button look="danger" why={why} disabled={cancel.isPending} onClick={() => cancel.mutate(undefined)}>
        Cancel
      </Button>
      {cancel.error !== null && <ErrorBanner error={cancel.error} />}
    </>
  );
}

/** A `once` call whose outcome is unknown is marked as such. */
function Failure({ error: { type, message, details } }: { error: CallError }) {
  const isUnknown = type === 'outcome_unknown' || details['outcome'] === 'unknown';
  return (
    <div className="stack">
      <Banner tone="bad">
        <code>
          <Text>{type}</Text>
        </code>{' '}
        <Text>{message}</Text>
        {isUnknown && <p>It may have happened: check its target before you call it again.</p>}
      </Banner>
      {Object.keys(details).length > 0 && (
        <details>
          <summary className="muted">Details</summary>
          <Json value={details} label="details of the error" />
        </details>
      )}
    </div>
  );
}
