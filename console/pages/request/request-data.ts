/** Data of the page of a request: its view, its timeline, its signals; read anew when something happened.
 *  Never reads anew for each part of a text. */
import { useQueries } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import type { RequestTimeline } from '../../../src/contract/request/request-timeline.ts';
import type { RequestView } from '../../../src/contract/request/request-view.ts';
import type { Signal } from '../../../src/contract/signal/signal.ts';
import { call, path } from '../../data/api.ts';
import { useRead } from '../../data/queries.ts';
import { inTenant } from '../../data/tenant.ts';
import { type SignalLog, useSignals } from '../../data/use-signals.ts';
import { type Conversation, createConversation } from './conversation.ts';

const EVERY_MS = 2_000;
/** Interval of a request that has ended and whose notices are under way. */
const WHILE_NOTIFYING_MS = 3_000;
/** The timeline reads the log again: of a long one less often. */
const PER_SIGNAL_MS = 0.05;
const AFTER_SIGNAL_MS = 200;

export interface RequestData {
  readonly view: RequestView | undefined;
  readonly timeline: RequestTimeline | undefined;
  readonly error: Error | null;
  readonly log: SignalLog;
  readonly conversation: Conversation;
  readonly retry: () => void;
}

export function useRequest(requestId: string): RequestData {
  const log = useSignals(requestId);
  const [isOpen, setOpen] = useState(true);
  const [isNotifying, setNotifying] = useState(false);
  const everyMs = isOpen ? Math.max(EVERY_MS, log.size * PER_SIGNAL_MS) : 0;
  const view = useRead<RequestView>(path`/v1/requests/${requestId}`, {
    everyMs: isOpen || !isNotifying ? everyMs : WHILE_NOTIFYING_MS,
    keepOld: false,
  });
  const timeline = useRead<RequestTimeline>(path`/v1/requests/${requestId}/timeline`, {
    everyMs,
    keepOld: false,
  });
  const { conversation, happened } = useFolded(log);
  const refresh = (): void => void [view.refetch(), timeline.refetch()];
  useEffect(() => setOpen(view.data?.status !== 'closed'), [view.data?.status]);
  useEffect(() => setNotifying(view.data !== undefined && hasWaitingNotice(view.data)), [view.data]);
  const latest = useRef(refresh);
  useEffect(() => {
    latest.current = refresh;
  });
  useEffect(() => {
    if (happened === 0) return undefined;
    const timer = setTimeout(() => latest.current(), AFTER_SIGNAL_MS);
    return () => clearTimeout(timer);
  }, [happened, log.state]);
  return {
    view: view.data,
    timeline: timeline.data,
    error: view.error ?? timeline.error ?? log.error,
    log,
    conversation,
    retry: refresh,
  };
}

/** Reason why nothing can be done with a request that only the archive has; null: the service still has it. */
export function whyArchived({ archived }: RequestView): string | null {
  return archived === undefined ? null : 'This request is archived: run it again, or fork it.';
}

function hasWaitingNotice({ notices = [], directives }: RequestView): boolean {
  const all = [...notices, ...directives.flatMap((each) => each.notices ?? [])];
  return all.some(({ status }) => status === 'waiting');
}

interface Folded {
  readonly log: readonly Signal[];
  readonly conversation: Conversation;
  read: number;
  /** Signals that are more than a part of a text or progress. */
  happened: number;
}

function isPiece(type: Signal['type'] | undefined): boolean {
  return type === 'ai.llm.delta' || type === 'ai.llm.raw' || type === 'ai.tool.progress';
}

/** The conversation so far: only what is new is folded. */
function useFolded({ signals }: SignalLog): Folded {
  const held = useRef<Folded | null>(null);
  if (held.current === null || held.current.log !== signals)
    held.current = { log: signals, conversation: createConversation(), read: 0, happened: 0 };
  const folded = held.current;
  folded.conversation.take(signals, folded.read);
  for (; folded.read < signals.length; folded.read += 1) {
    const type = signals[folded.read]?.type;
    if (!isPiece(type)) folded.happened += 1;
  }
  return folded;
}

/** The timelines of children that are open in the drawing. */
export function useChildren(requestIds: readonly string[]): ReadonlyMap<string, RequestTimeline> {
  const answers = useQueries({
    queries: requestIds.map((id) => ({
      queryKey: ['api', inTenant(path`/v1/requests/${id}/timeline`)],
      queryFn: async ({ signal }: { signal: AbortSignal }) =>
        call<RequestTimeline>('GET', path`/v1/requests/${id}/timeline`, { signal }),
      refetchInterval: EVERY_MS * 2,
    })),
  });
  const read = answers.map(({ dataUpdatedAt }) => dataUpdatedAt).join(' ');
  const held = useRef<{ read: string; children: ReadonlyMap<string, RequestTimeline> }>({
    read: '',
    children: NONE,
  });
  if (held.current.read !== read) {
    const known = answers.flatMap(({ data }) =>
      data === undefined ? [] : [[data.request_id, data] as const],
    );
    held.current = { read, children: new Map(known) };
  }
  return held.current.children;
}

const NONE: ReadonlyMap<string, RequestTimeline> = new Map();

/** The time of the service, which goes on while `isOpen`. */
export function useNow(readAt: string | undefined, isOpen: boolean): number {
  const base = useRef({ readAt: '', takenAt: 0 });
  const [now, setNow] = useState(() => Date.now());
  if (readAt !== undefined && base.current.readAt !== readAt)
    base.current = { readAt, takenAt: performance.now() };
  useEffect(() => {
    if (!isOpen) return undefined;
    const timer = setInterval(() => setNow(Date.now()), 500);
    return () => clearInterval(timer);
  }, [isOpen]);
  if (readAt === undefined) return now;
  const gone = isOpen ? performance.now() - base.current.takenAt : 0;
  return Date.parse(readAt) + gone;
}
