/** The whole history of one request, line by line in order of time: what was sent, answered, killed and executed.
 *  It must never leave out a line because it looks harmless. */
import type { Evidence } from './evidence.ts';
import type { CancelRecord, SubmissionRecord } from './history.ts';
import type { WireSignal } from './wire.ts';

export interface Line {
  readonly at: number;
  readonly text: string;
}

/** `more`: extra lines of this kind of request. */
export function storyOf(evidence: Evidence, more: readonly Line[] = []): string[] {
  const { history, signals, executions, tasks } = evidence;
  const told: Line[] = [
    ...more,
    ...history.submissions.flatMap(submissionLines),
    ...history.cancels.flatMap(cancelLines),
    ...signals.map((signal) => ({ at: Date.parse(signal.time), text: signalText(signal) })),
    ...[...tasks.values()].flat().map(({ at, what, taskId, answer }) => ({
      at,
      text: `task ${taskId} ${what} ${answer ?? ''}`,
    })),
    ...[...executions.values()]
      .flat()
      .map(({ at, label, tool, execution, pid, key, traceparent, fault }) => ({
        at,
        text: `executed ${label} ${tool} #${execution} by ${pid} (${key}) ${traceparent ?? ''} ${fault ?? ''}`,
      })),
  ];
  const lines = [...told, ...faultLines(evidence, told)].toSorted((left, right) => left.at - right.at);
  const planned = [...evidence.planned.values()].map(({ body }) => `  planned ${shortened(body)}`);
  const views = (evidence.view?.directives ?? []).map((view) => `  view ${JSON.stringify(view)}`);
  return [
    ...planned,
    ...lines.map(({ at, text }) => `  ${new Date(at).toISOString().slice(11, 23)} ${text}`),
    ...views,
  ];
}

function shortened(value: unknown): string {
  return JSON.stringify(value, (_key, each: unknown) =>
    typeof each === 'string' && each.length > 200 ? `${each.slice(0, 20)}… (${each.length})` : each,
  );
}

function submissionLines({
  purpose,
  directives,
  api,
  sentAt,
  answeredAt,
  status,
  code,
  verdicts,
}: SubmissionRecord): Line[] {
  const ids = directives.map(({ id }) => id).join(' ');
  const said = [...verdicts].map(([id, verdict]) => `${id}=${verdict}`).join(' ');
  return [
    { at: sentAt, text: `${purpose} → ${api}: ${ids}` },
    {
      at: answeredAt,
      text: `${purpose} ← ${status} ${code} ${said} (sent ${new Date(sentAt).toISOString().slice(11, 23)})`,
    },
  ].filter(({ at }) => Number.isFinite(at));
}

function cancelLines({ target, api, sentAt, answeredAt, status, verdicts }: CancelRecord): Line[] {
  const said = [...verdicts].map(([id, verdict]) => `${id}=${verdict.status}`).join(' ');
  const name = target ?? 'the request';
  return [
    { at: sentAt, text: `cancel ${name} → ${api}` },
    { at: answeredAt, text: `cancel ${name} ← ${status} ${said}` },
  ].filter(({ at }) => Number.isFinite(at));
}

function signalText({ sequence, type, causationid, attempt, data }: WireSignal): string {
  const { metadata, result, error, seq, delta } = data as Record<string, unknown>;
  const about = shortened({ seq, delta, result, error, metadata });
  return `signal ${sequence} ${type} ${causationid} attempt ${attempt ?? '-'} ${about}`;
}

/** Those that may have affected it. */
function faultLines({ faults }: Evidence, told: readonly Line[]): Line[] {
  const times = told.map(({ at }) => at);
  const [from, to] = [Math.min(...times) - 30_000, Math.max(...times) + 5_000];
  return faults
    .filter(({ at }) => at >= from && at <= to)
    .flatMap(({ kind, pid, at, overAt }) => [
      { at, text: `*** ${kind} (pid ${pid})` },
      ...(overAt === null || overAt === at ? [] : [{ at: overAt, text: `*** over: ${kind} (pid ${pid})` }]),
    ]);
}
