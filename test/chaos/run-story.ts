/** The whole history of one run, line by line in the order of time.
 *  It must never leave out a line because it looks harmless. */
import type { RunEvidence } from './run-evidence.ts';
import { type Line, storyOf } from './story.ts';

export function runStoryOf(evidence: RunEvidence): string[] {
  const { history, view, asks, calls, before } = evidence;
  const { starts, inputs, decisions } = history;
  const lines: Line[] = [
    ...starts.flatMap((record) => linesOf(record.purpose, record)),
    ...inputs.flatMap((record) => linesOf(`input ${record.id}`, record)),
    ...decisions.flatMap((record) => linesOf(`${record.decision} ${record.callId}`, record)),
    ...[...asks, ...[...calls.values()].flat()].map(({ at, label, tool, execution, fault }) => ({
      at,
      text: `counted ${label} ${tool} #${execution} ${fault ?? ''}`,
    })),
  ];
  const { messages = [], ...run } = view?.run ?? {};
  return [
    `  planned ${JSON.stringify(history.planned.body)}`,
    ...storyOf(evidence, lines),
    `  run ${JSON.stringify(run)}`,
    ...messages.map(
      (message, index) => `  message ${index < before.length ? 'before ' : ''}${JSON.stringify(message)}`,
    ),
  ];
}

interface Asked {
  readonly sentAt: number;
  readonly answeredAt: number;
  readonly status: number | string;
  readonly code: string;
}

function linesOf(what: string, { sentAt, answeredAt, status, code }: Asked): Line[] {
  return [
    { at: sentAt, text: `${what} →` },
    { at: answeredAt, text: `${what} ← ${status} ${code}` },
  ].filter(({ at }) => Number.isFinite(at));
}
