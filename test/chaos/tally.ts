/** How much a run has requested, and the outcomes.
 *  It must never decide whether that is right. */
import type { Evidence } from './evidence.ts';
import type { Fault } from './history.ts';
import type { RunEvidence } from './run-evidence.ts';
import { TERMINAL_TYPES } from './wire.ts';

const UNKNOWN = 'outcome_unknown';

type Counts = Record<string, number>;

export interface Tally {
  add(evidence: Evidence): void;
  addRun(evidence: RunEvidence): void;
  short(open: number): string;
  lines(): string[];
}

export function createTally(faults: readonly Fault[]): Tally {
  const asked: Counts = {};
  const ends: Counts = {};
  const runs: Counts = {};
  const count = (counts: Counts, name: string, by = 1): void =>
    void (counts[name] = (counts[name] ?? 0) + by);

  function add(evidence: Evidence): void {
    const { history, view, signals, executions } = evidence;
    count(asked, 'requests');
    count(asked, 'directives', view?.directives.length ?? 0);
    count(asked, 'signals', signals.length);
    count(asked, 'executions', [...executions.values()].flat().length);
    count(asked, 'redeliveries', sum(view?.directives.map(({ redeliveries }) => redeliveries)));
    count(asked, 'retries', sum(view?.directives.map(({ failures }) => failures)));
    for (const { purpose, status, directives, verdicts } of history.submissions) {
      const how =
        status === 'lost' ? 'without an answer' : status === 503 ? 'refused with 503' : `answered ${status}`;
      count(asked, `submissions ${how}`);
      if (purpose === 'conflict' || purpose === 'invalid') count(asked, `${purpose}s`);
      if (directives.length > 1) count(asked, 'batches');
      count(asked, 'duplicates', [...verdicts.values()].filter((verdict) => verdict === 'existing').length);
    }
    for (const { status, verdicts } of history.cancels) {
      count(asked, 'cancels');
      if (status === 'lost' || status === 503) count(asked, 'cancels without an answer');
      for (const verdict of verdicts.values()) count(asked, `cancels answered ${verdict.status}`);
    }
    count(asked, 'tasks', [...evidence.tasks.values()].flat().filter(({ what }) => what === 'made').length);
    count(asked, 'answers taken', history.answers.filter(({ status }) => status === 200).length);
    for (const { type, data } of signals) {
      if (type === 'ai.tool.input_requested') count(asked, 'questions');
      if (!TERMINAL_TYPES.has(type)) continue;
      const end = data.result === undefined ? type : data.result.ok ? 'ok' : data.result.error.type;
      count(ends, end);
      // Its effect is unknown only because of when it was said to start, or its call died on the way.
      if (end === UNKNOWN && executions.get(data.call_id ?? '')?.length === 0)
        count(ends, `${UNKNOWN}, though no tool had begun`);
    }
  }

  function addRun({ history, view, signals, asks, calls, told }: RunEvidence): void {
    if (view?.run === undefined) return count(runs, 'unknown');
    const { directives, run } = view;
    count(runs, `${history.planned.kind}: ${run.termination_reason}`);
    count(runs, 'runs');
    count(runs, 'directives', directives.length);
    count(runs, 'signals', signals.length);
    count(runs, 'model calls', asks.length);
    count(runs, 'tool calls', [...calls.values()].flat().length);
    count(runs, 'inputs taken up', told.inputs.length);
    count(runs, 'decisions', history.decisions.length);
    count(runs, 'redeliveries', sum(directives.map(({ redeliveries }) => redeliveries)));
    count(runs, 'retries', sum(directives.map(({ failures }) => failures)));
  }

  function lines(): string[] {
    const kills: Counts = {};
    for (const { kind } of faults) count(kills, kind);
    return [
      `asked: ${listed(asked)}`,
      `ends: ${listed(ends)}`,
      `runs: ${listed(runs)}`,
      `faults: ${faults.length} (${listed(kills)})`,
    ];
  }

  const short = (open: number): string =>
    `${asked['directives'] ?? 0} directives and ${runs['runs'] ?? 0} runs judged, ${open} requests open, ${faults.length} faults`;
  return { add, addRun, short, lines };
}

function sum(values: readonly number[] | undefined): number {
  return (values ?? []).reduce((total, value) => total + value, 0);
}

function listed(counts: Counts): string {
  return Object.entries(counts)
    .toSorted(([left], [right]) => (left < right ? -1 : 1))
    .map(([name, number]) => `${name} ${number}`)
    .join(', ');
}
