/** A node of a drawn trace: what its line says, when it began, waited and ended.
 *  It must never hold a text that a terminal would obey. */
import { ownMember } from '../../contract/json/json-object.ts';
import type { TracedEvent } from '../../contract/request/request-trace.ts';
import { oneLine, type Style } from '../terminal.ts';
import { timeText } from '../table.ts';

/** One line of the drawing. Instants are milliseconds since the epoch. */
export interface TraceNode {
  readonly label: string;
  readonly state: readonly [Style, string] | null;
  readonly notes: readonly string[];
  /** null: it has no place in time. */
  readonly startAt: number | null;
  /** When it was claimed; until then it waited. null: not yet. */
  readonly takenAt: number | null;
  /** When its claim was lost: it waits again. Default: claimed to its end. */
  readonly lostAt?: number | null;
  /** null: it goes on. */
  readonly endAt: number | null;
  readonly below: readonly TraceNode[];
  /** It happened at `startAt`, and lasted for no time. */
  readonly isInstant?: true;
}

const LONGEST_NAME = 48;
const LONGEST_NOTE = 160;

export const STATUS_STYLES: Readonly<Record<string, Style>> = {
  running: 'cyan',
  waiting: 'yellow',
  completed: 'green',
  succeeded: 'green',
  failed: 'red',
  cancelled: 'red',
  timeout: 'red',
};

const EVENT_LABELS: Readonly<Record<string, string>> = {
  'directive.waiting': 'waits',
  'ai.tool.approval_requested': 'approval asked',
  'ai.tool.approval_decided': 'approval',
  'ai.tool.input_requested': 'question asked',
  'ai.tool.input_answered': 'answer',
  'ai.request.input': 'input',
  'ai.request.cancel_requested': 'cancellation asked',
  cancel_requested: 'cancellation asked',
  'agent.child.exit': 'child ended',
};

export function eventNode({ at, type, message, until }: TracedEvent): TraceNode {
  const instant = Date.parse(at);
  const untilMs = until === null ? null : Date.parse(until) - instant;
  const wait = untilMs === null || untilMs < 0 ? [] : [`${untilText(type)} ${timeText(untilMs)}`];
  return {
    ...saying(ownMember(EVENT_LABELS, type) ?? named(type)),
    notes: [...(message === '' ? [] : [note(message)]), ...wait],
    startAt: instant,
    takenAt: instant,
    endAt: instant,
    isInstant: true,
  };
}

/** A question waits for a person until its deadline; work waits for its next try. */
function untilText(type: string): string {
  return type === 'ai.tool.approval_requested' || type === 'ai.tool.input_requested'
    ? 'open for'
    : 'next try after';
}

export const NOWHERE: Omit<TraceNode, 'label'> = {
  state: null,
  notes: [],
  startAt: null,
  takenAt: null,
  endAt: null,
  below: [],
};

export function saying(label: string): TraceNode {
  return { ...NOWHERE, label };
}

export function inOrder(nodes: readonly TraceNode[]): TraceNode[] {
  return nodes.toSorted((left, right) => (left.startAt ?? Infinity) - (right.startAt ?? Infinity) || 0);
}

export function named(name: string): string {
  return oneLine(name, LONGEST_NAME);
}

export function note(text: string): string {
  return oneLine(text, LONGEST_NOTE);
}

export function instantOf(instant: string | null): number | null {
  return instant === null ? null : Date.parse(instant);
}
