/** `adjutant diff`: compares two requests turn by turn, from the log, the archive or recorded cases.
 *  It must never ask a service for what it reads from a file. */
import { existsSync } from 'node:fs';
import {
  type CaseComparison,
  compareCases,
  type ComparedTurn,
  type Difference,
} from '../../contract/case/compare.ts';
import type { RecordedCase } from '../../contract/case/case.ts';
import { readCaseOrArchive } from '../../features/cases/case-file.ts';
import { EXIT, type ExitCode } from '../failure.ts';
import type { CommandLine, Invocation } from '../invocation.ts';
import { table, timeText } from '../table.ts';
import { oneLine, plainJson, type Terminal } from '../terminal.ts';
import { type FromArchive, recordedCase, withCaseFaults } from './record.ts';

export function addDiff({ program, withClient }: CommandLine): void {
  program
    .command('diff <a> <b>')
    .description(
      'compare two requests, or files of cases or archives: turns, calls, results, cost; exit 1: they differ',
    )
    .option('--archive', 'read requests as they were archived when they closed')
    .action(async (a: string, b: string, given: FromArchive) =>
      withClient(async (invocation) => diff(invocation, [a, b], given)),
    );
}

async function diff(
  invocation: Invocation,
  [a, b]: readonly [string, string],
  given: FromArchive,
): Promise<ExitCode> {
  const { terminal, json } = invocation;
  const comparison = compareCases(await caseAt(invocation, a, given), await caseAt(invocation, b, given));
  const { turns, ...whole } = comparison;
  const lines = json
    ? [...turns, whole].map((value) => plainJson(value))
    : comparisonLines(comparison, terminal.paint);
  for (const line of lines) terminal.out(line);
  return comparison.parted === null ? EXIT.done : EXIT.failed;
}

/** A file of this name, else the request with this id. */
async function caseAt(invocation: Invocation, name: string, given: FromArchive): Promise<RecordedCase> {
  if (existsSync(name)) return withCaseFaults(async () => readCaseOrArchive(name));
  return recordedCase(invocation, name, given);
}

type Paint = Terminal['paint'];

function comparisonLines({ parted, turns, a, b }: CaseComparison, paint: Paint): string[] {
  const end = ({ status, termination_reason: reason }: CaseComparison['a']): string =>
    status === null ? '-' : reason === null ? status : `${status}, ${reason}`;
  const sums = [
    [paint('dim', ''), paint('bold', oneLine(a.request_id)), paint('bold', oneLine(b.request_id))],
    [paint('dim', 'end'), oneLine(end(a)), oneLine(end(b))],
    [paint('dim', 'turns'), String(a.turns), String(b.turns)],
    [paint('dim', 'tool calls'), String(a.calls), String(b.calls)],
    [paint('dim', 'tokens'), String(a.tokens), String(b.tokens)],
    [paint('dim', 'cost'), costText(a.cost), costText(b.cost)],
    [paint('dim', 'time'), durationText(a.duration_ms), durationText(b.duration_ms)],
  ];
  const head =
    parted === null ? paint('green', 'the same') : paint('yellow', `part at ${oneLine(parted.place)}`);
  return [
    ...table(sums),
    '',
    head,
    ...turns.flatMap((turn) => turnLines(turn, paint)),
    ...endLines(parted, paint),
  ];
}

export function costText(cost: number | null): string {
  return cost === null ? 'unknown' : `$${cost.toFixed(4)}`;
}

export function durationText(ms: number | null): string {
  return ms === null ? 'unknown' : timeText(ms);
}

function turnLines(turn: ComparedTurn, paint: Paint): string[] {
  const { a, b, asked, answered, calls, sums } = turn;
  if (turn.taken_over === true) {
    const whose = a === null ? `${b} of the second one` : `${a} of the first one`;
    return [paint('dim', `= turn ${whose}: before the fork`), ...callLines(calls.map(taken), paint)];
  }
  if (a === null)
    return [paint('yellow', `+ turn ${b}: only the second one has it`), ...callLines(calls, paint)];
  if (b === null)
    return [paint('yellow', `- turn ${a}: only the first one has it`), ...callLines(calls, paint)];
  const number = a === b ? String(a) : `${a} and ${b}`;
  const differences = [
    ...(asked === null ? [] : differenceLines('prompt', asked, paint)),
    ...(answered === null ? [] : differenceLines('answer', answered, paint)),
  ];
  const tokens = [sums.a, sums.b].map((each) => String(each?.usage?.total_tokens ?? 'unknown'));
  const times = [sums.a, sums.b].map((each) => durationText(each?.duration_ms ?? null));
  const between = `${tokens.join(' | ')} tokens, ${times.join(' | ')}`;
  return [`turn ${number}  ${paint('dim', between)}`, ...differences, ...callLines(calls, paint)];
}

/** A call before a fork belongs to both. */
function taken(call: ComparedTurn['calls'][number]): ComparedTurn['calls'][number] {
  return { ...call, kind: 'same' };
}

function callLines(calls: ComparedTurn['calls'], paint: Paint): string[] {
  return calls.flatMap(({ tool, kind, difference }) => {
    const name = oneLine(tool);
    if (kind === 'same') return [`    ${name}`];
    if (kind === 'only_a') return [paint('red', `  - ${name}`)];
    if (kind === 'only_b') return [paint('green', `  + ${name}`)];
    return [`  ~ ${name}`, ...(difference === null ? [] : differenceLines(kind, difference, paint))];
  });
}

function differenceLines(what: string, difference: Difference, paint: Paint): string[] {
  const { place } = difference;
  return [
    `  ~ ${what}: ${oneLine(place)}`,
    ...('a' in difference ? [paint('red', `      - ${shown(difference.a)}`)] : []),
    ...('b' in difference ? [paint('green', `      + ${shown(difference.b)}`)] : []),
  ];
}

/** The end belongs to no turn. */
function endLines(parted: Difference | null, paint: Paint): string[] {
  return parted?.place.startsWith('end') === true ? differenceLines('end', parted, paint) : [];
}

export function shown(value: unknown): string {
  return oneLine(typeof value === 'string' ? value : plainJson(value), 400);
}
