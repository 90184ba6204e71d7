/** Who is notified of an end, as rows of a table and as nodes of a drawn trace.
 *  It must never hold a text that a terminal would obey. */
import type { Notice } from '../../contract/signal/notice.ts';
import type { RequestView } from '../../contract/request/request-view.ts';
import { ownMember } from '../../contract/json/json-object.ts';
import { counted } from './run-lines.ts';
import { oneLine, type Paint, type Style } from '../terminal.ts';
import { named, NOWHERE, type TraceNode } from '../trace/trace-node.ts';

const STYLES: Readonly<Record<string, Style>> = {
  waiting: 'yellow',
  delivered: 'green',
  dead: 'red',
  failed: 'red',
};
const LONGEST_ID = 300;

/** Notices of a request: the end, the receiver, the state and the delivery. */
export function noticeRows({ directives, notices = [] }: RequestView, paint: Paint): string[][] {
  const ofRun = notices.map((notice) => ['run', ...noticeCells(notice, paint)]);
  const others = directives.flatMap(({ id, notices: own = [] }) =>
    own.map((notice) => [id, ...noticeCells(notice, paint)]),
  );
  return [...ofRun, ...others];
}

export function noticeCells(notice: Notice, paint: Paint): string[] {
  const [style, status] = stateOf(notice);
  return [
    receiverOf(notice),
    paint(style, status),
    progressOf(notice),
    deliveryOf(notice),
    ...reasonOf(notice),
  ];
}

export function noticeNodes(notices: readonly Notice[] = []): TraceNode[] {
  return notices.map((notice) => ({
    ...NOWHERE,
    label: `notice ${receiverOf(notice)}`,
    state: stateOf(notice),
    notes: [progressOf(notice), deliveryOf(notice), ...reasonOf(notice)],
  }));
}

function receiverOf({ endpoint }: Notice): string {
  return endpoint === null ? 'not accepted yet' : named(endpoint);
}

/** The reason names the error, where there is one. */
function stateOf({ status, error, reason }: Notice): readonly [Style, string] {
  const why = error === null || reason !== undefined ? '' : `: ${named(error)}`;
  return [ownMember(STYLES, status) ?? 'dim', `${named(status)}${why}`];
}

function progressOf({ attempts, status, next_attempt_at: next }: Notice): string {
  const again = status === 'waiting' && next !== null ? `, again at ${oneLine(next, 40)}` : '';
  return `${counted(attempts, 'attempt')}${again}`;
}

function reasonOf({ reason }: Notice): string[] {
  return reason === undefined ? [] : [oneLine(reason, LONGEST_ID)];
}

/** As `get` takes it. */
function deliveryOf({ request_id: requestId, id }: Notice): string {
  return oneLine(id === null ? requestId : `${requestId} ${id}`, LONGEST_ID);
}
