/** A request as a tree of nodes: its directives, or the turns of its run with what they sent, and its children.
 *  It must never leave anything out without saying so. */
import { ownMember } from '../contract/own-member.ts';
import type { RequestTrace, TracedRun, TracedTurn } from '../contract/request-trace.ts';
import { ADJUTANT } from './command-name.ts';
import { noticeNodes } from './notice-lines.ts';
import { directiveNode } from './trace-directive.ts';
import {
  eventNode,
  inOrder,
  instantOf,
  named,
  note,
  NOWHERE,
  saying,
  STATUS_STYLES,
  type TraceNode,
} from './trace-node.ts';

/** A request's trace with those of its children. null: not kept any longer, or left out. */
export interface TraceFamily {
  readonly trace: RequestTrace;
  readonly children: ReadonlyMap<string, TraceFamily | null>;
}

export function requestNode({ trace, children }: TraceFamily): TraceNode {
  const { run, created_at: from, closed_at: to } = trace;
  const times = { startAt: Date.parse(from), takenAt: Date.parse(from), endAt: instantOf(to) };
  const own = trace.directives.map(
    (directive) => [directive.turn, directiveNode(directive, trace.read_at)] as const,
  );
  const kin = (run?.children ?? []).map((child) => [child.turn, childNode(child, children)] as const);
  const known = new Set(run?.turns.map(({ turn }) => turn));
  const placed = [...own, ...kin];
  const ofTurn = (number: number) => placed.flatMap(([turn, node]) => (turn === number ? [node] : []));
  const loose = placed.flatMap(([turn, node]) => (turn === null || !known.has(turn) ? [node] : []));
  const turns = run?.turns.map((turn) => turnNode(turn, ofTurn(turn.turn))) ?? [];
  return {
    label: run === undefined ? 'request' : `run ${named(run.agent)}`,
    state: run === undefined ? requestState(trace) : runState(run),
    notes: [],
    ...times,
    below: [
      ...inOrder([...turns, ...loose, ...trace.events.map(eventNode)]),
      ...noticeNodes(run?.notices),
      ...leftOut(trace),
    ],
  };
}

function requestState({ status }: RequestTrace): TraceNode['state'] {
  return status === 'closed' ? ['green', 'closed'] : ['cyan', 'open'];
}

function runState({ status, termination_reason: reason }: TracedRun): TraceNode['state'] {
  return [
    ownMember(STATUS_STYLES, status) ?? 'dim',
    reason === null ? status : `${status} (${note(reason)})`,
  ];
}

type Child = TracedRun['children'][number];

function childNode({ tag, request_id: id, status }: Child, children: TraceFamily['children']): TraceNode {
  const family = children.get(id) ?? null;
  if (family !== null) {
    const node = requestNode(family);
    return { ...node, label: `${node.label} ${named(tag)}`, notes: [...node.notes, id] };
  }
  const how = `its own tree: ${ADJUTANT} trace ${id}`;
  const style = ownMember(STATUS_STYLES, status) ?? 'dim';
  return { ...NOWHERE, label: `run ${named(tag)}`, state: [style, note(status)], notes: [how] };
}

function turnNode(
  { turn, started_at: from, ended_at: to, events }: TracedTurn,
  sent: readonly TraceNode[],
): TraceNode {
  const startAt = Date.parse(from);
  return {
    label: `turn ${turn}`,
    state: null,
    notes: [],
    startAt,
    takenAt: startAt,
    endAt: Date.parse(to),
    below: inOrder([...sent, ...events.map(eventNode)]),
  };
}

/** What is not drawn is said. */
function leftOut({
  request_id: id,
  directives_left_out: directives,
  signals_left_out: signals,
  run,
}: RequestTrace) {
  const turns = run?.turns_left_out ?? 0;
  return [
    ...(run?.turns.length === 0 ? [saying('no turn was taken yet')] : []),
    ...(turns === 0 ? [] : [saying(`${turns} earlier turns are not kept`)]),
    ...(directives === 0 ? [] : [saying(`${directives} more directives: ${ADJUTANT} get ${id}`)]),
    ...(signals === 0 ? [] : [saying(`${signals} later signals are left out: ${ADJUTANT} tail ${id}`)]),
  ];
}
