/** A run in lines: how it ended, its cost, what it waits for, its messages.
 *  It must never show more of a message than one line: the JSON has all of it. */
import type { DirectiveClient } from '../../contract/directive/directive-client.ts';
import { ownMember } from '../../contract/json/json-object.ts';
import type { RequestOrigin } from '../../contract/run/run-origin.ts';
import { type RunView, type RunWait, TERMINAL_RUN_STATUSES } from '../../contract/run/run.ts';
import type { Wait } from '../../contract/request/waiting.ts';
import { tokensText } from './turn-text.ts';
import { payloadText } from '../commands/payload.ts';
import { anyErrorText } from './signal-gist.ts';
import { table } from '../table.ts';
import { oneLine, type Paint, type Style } from '../terminal.ts';

/** Agent, work done, tokens, cost, duration. */
export function runLine(view: RunView): string {
  const durationMs = elapsedMs(view.started_at, view.ended_at);
  return [
    `agent ${view.agent}`,
    counted(view.iterations, 'iteration'),
    counted(view.tool_calls, 'tool call'),
    tokensText(view.usage),
    ...(view.cost === null ? [] : [`$${view.cost.toFixed(4)}`]),
    ...(durationMs === null ? [] : [durationText(durationMs)]),
  ].join(' · ');
}

/** Directive → how it ended. */
export type EndedDirectives = ReadonlyMap<string, string>;

/** Everything about the run. `over`: it waits no longer for these, and has not read their ends. */
export function runLines(view: RunView, paint: Paint, over: EndedDirectives = new Map()): string[] {
  const status = paint(ownMember(STYLES, view.status) ?? 'dim', view.status);
  const reason = view.termination_reason === null ? '' : ` (${view.termination_reason})`;
  const conversation = view.conversation_id === null ? '' : ` · conversation ${view.conversation_id}`;
  const { origin } = view;
  const ending = endingLine(view, paint);
  return [
    `${paint('bold', 'run')} ${status}${reason} · ${runLine(view)}${conversation}${origin === undefined ? '' : ` · ${originText(origin)}`}`,
    ...section('waits for', table(view.waiting_for.map((wait) => waitRow(wait, over.get(wait.id)))), paint),
    ...section(
      'children',
      table(view.children.map((child) => [child.tag, child.request_id, child.status])),
      paint,
    ),
    ...section('messages', table(view.messages.map((message) => messageRow(message, paint))), paint),
    ...(ending === null ? [] : [ending]),
  ];
}

/** Whether `resume` continues the run. One that never began has nothing to go on from. */
export function isResumable({ status, started_at: startedAt }: RunView): boolean {
  return startedAt !== null && (status === 'failed' || status === 'cancelled' || status === 'timeout');
}

export function originText({ request_id: from, kind, turn }: RequestOrigin): string {
  return kind === 'fork' ? `fork of ${from} at turn ${turn}` : `again of ${from}`;
}

export function durationText(ms: number): string {
  return ms < 1_000 ? `${ms} ms` : `${(ms / 1_000).toFixed(1)} s`;
}

/** null while either is unknown. */
export function elapsedMs(from: string | null, to: string | null): number | null {
  return from === null || to === null ? null : Math.max(0, Date.parse(to) - Date.parse(from));
}

export function section(title: string, lines: readonly string[], paint: Paint): string[] {
  return lines.length === 0 ? [] : [paint('dim', title), ...lines.map((line) => `  ${line}`)];
}

function endingLine({ status, result, error }: RunView, paint: Paint): string | null {
  if (status === 'completed') return `${paint('green', 'answer')} ${payloadText(result)}`;
  return error === null || error === undefined
    ? null
    : `${paint('red', 'error')} ${oneLine(anyErrorText(error), 1_000)}`;
}

function waitRow({ kind, id, name, until }: RunWait, end: string | undefined): string[] {
  const read = end === undefined ? '' : `${end}, and not read yet`;
  return [kind, id, name ?? '-', until === undefined ? read : `until ${until}`];
}

type Message = RunView['messages'][number];

function messageRow(message: Message, paint: Paint): string[] {
  const { role, name } = message as { role: string; name?: unknown };
  const speaker = role === 'tool' && typeof name === 'string' ? `tool ${oneLine(name, 60)}` : role;
  return [
    paint('bold', speaker),
    oneLine([contentText(message['content']), ...callTexts(message)].join(' ')),
  ];
}

/** Text as it is, other parts by their type. */
function contentText(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return (content as Record<string, unknown>[])
    .map((part) => {
      const text = typeof part['text'] === 'string' ? part['text'] : '';
      return part['type'] === 'text'
        ? text
        : `(${String(part['type'])}${text === '' ? '' : `: ${oneLine(text, 60)}`})`;
    })
    .join(' ');
}

function callTexts(message: Message): string[] {
  const calls = message['tool_calls'];
  if (!Array.isArray(calls)) return [];
  return (calls as { name?: unknown; arguments?: unknown }[]).map(
    ({ name, arguments: args }) => `→ ${String(name)} ${JSON.stringify(args ?? {})}`,
  );
}

/** `1 signal`, `2 signals`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

const STYLES: Readonly<Record<RunView['status'], Style>> = {
  pending: 'dim',
  running: 'cyan',
  waiting: 'yellow',
  completed: 'green',
  failed: 'red',
  cancelled: 'red',
  timeout: 'red',
};

/** Reason why no engine advances the run; null: an engine works, or the run has ended. */
export async function engineAbsence(
  run: RunView | undefined,
  client: Pick<DirectiveClient, 'lanes'>,
): Promise<Wait | null> {
  if (run === undefined || TERMINAL_RUN_STATUSES.has(run.status)) return null;
  const { lanes } = await client.lanes();
  const waits = lanes.find(({ name }) => name === 'run')?.waits;
  return waits?.reason === 'no_worker' ? waits : null;
}
