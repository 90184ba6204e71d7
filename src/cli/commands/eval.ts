/** `adjutant eval`: runs recorded cases with another prompt, agent or model against the recorded tools, and prints a table.
 *  It must never let a run act on anything outside: only models are asked. */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { CaseFault } from '../../contract/case/case.ts';
import { CliFailure, EXIT, type ExitCode, usage } from '../failure.ts';
import type { CommandLine, LocalInvocation } from '../invocation.ts';
import { wholeNumber } from '../options/option-values.ts';
import { table } from '../table.ts';
import { oneLine, plainJson, type Terminal } from '../terminal.ts';
import { costText, durationText, shown } from './diff.ts';

type EvaluatedRun = import('../../testing/evaluation.ts').EvaluatedRun;

interface EvalOptions {
  readonly agent?: string;
  readonly model?: string;
  readonly prompt?: string;
  readonly times: number;
  readonly offline?: boolean;
  readonly scores?: string;
  readonly config?: string;
}

const MOST_TIMES = 100;

export function addEval({ program, local }: CommandLine): void {
  program
    .command('eval <cases...>')
    .description(
      'run recorded cases with other models or prompts; tools answer from the record; exit 1: a run did not pass',
    )
    .option('--agent <name>', 'agent of the runs; default: the recorded one')
    .option('--model <provider:model>', "default: the agent's")
    .option('--prompt <file>', 'system prompt of the runs')
    .option('--times <count>', 'runs of each case, up to 100', wholeNumber, 1)
    .option('--offline', 'models answer from the record, too')
    .option('--scores <module>', 'module with scores (defineScore of adjutant/engine) that decide')
    .option(
      '--config <file>',
      'its agents, strategies, providers, models and limits are used; default: adjutant.json',
    )
    .action(async (cases: string[], given: EvalOptions) =>
      local(async (invocation) => evaluateCases(invocation, cases, given)),
    );
}

async function evaluateCases(
  { terminal, json, environment, interrupt }: LocalInvocation,
  paths: readonly string[],
  given: EvalOptions,
): Promise<ExitCode> {
  for (const path of paths)
    if (!existsSync(path)) throw usage(`${path} does not exist.`, 'Name files of cases, or folders of them.');
  if (given.times < 1 || given.times > MOST_TIMES)
    throw usage(`--times is ${given.times}.`, `Give a number from 1 to ${MOST_TIMES}.`);
  const { evaluate } = await import('../../testing/evaluation.ts');
  const rows: EvaluatedRun[] = [];
  const runs = evaluate({ ...(await optionsOf(given)), paths, environment, signal: interrupt });
  try {
    for await (const run of runs) {
      rows.push(run);
      if (json) terminal.out(plainJson(run));
      else terminal.status(`${rows.length} runs, the last of ${oneLine(run.case)}`);
    }
  } catch (error) {
    if (interrupt.aborted) return EXIT.interrupted;
    throw error instanceof CaseFault ? fault(error) : error;
  } finally {
    terminal.status('');
  }
  if (rows.length === 0)
    throw usage('There is no case.', 'Record one: adjutant record REQUEST > cases/name.jsonl');
  if (!json) for (const line of resultLines(rows, terminal)) terminal.out(line);
  return rows.every(({ passed }) => passed) ? EXIT.done : EXIT.failed;
}

function fault({ message }: CaseFault): CliFailure {
  return new CliFailure({ what: `${message}.`, how: 'Name a case that `adjutant record` made of a run.' });
}

async function optionsOf({ agent, model, prompt, times, offline = false, scores, config }: EvalOptions) {
  const file = config ?? 'adjutant.json';
  if (config !== undefined && !existsSync(config))
    throw usage(`${config} does not exist.`, 'Name a configuration file.');
  const system = prompt === undefined ? {} : { system_prompt: await promptFrom(prompt) };
  return {
    ...(agent === undefined ? {} : { agent }),
    overrides: { ...(model === undefined ? {} : { model }), ...system },
    times,
    offline,
    scores: scores ?? null,
    config: existsSync(file) ? file : null,
  };
}

async function promptFrom(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw usage(`${file} cannot be read: ${(error as Error).message}`, 'Name a readable file.');
  }
}

function resultLines(rows: readonly EvaluatedRun[], { paint }: Terminal): string[] {
  const names = ['case', 'run', '', 'calls', 'end', 'result', 'turns', 'tokens', 'cost', 'time', 'scores'];
  const cells = rows.map(({ case: file, run, passed, end, recorded, scores, ...same }) => [
    oneLine(file),
    String(run),
    passed ? paint('green', 'passed') : paint('red', 'failed'),
    sameText(same.same_calls),
    sameText(same.same_end),
    sameText(same.same_result),
    besideText(String(end.turns), String(recorded.turns)),
    besideText(String(end.tokens), String(recorded.tokens)),
    besideText(costText(end.cost), costText(recorded.cost)),
    durationText(end.duration_ms),
    scores.map(({ name, value }) => `${name} ${value ?? 'failed'}`).join(', ') || '-',
  ]);
  const lefts = rows.flatMap(({ case: file, run, left }) =>
    left === null
      ? []
      : [
          `${oneLine(file)} run ${run} left the record at ${oneLine(left.place)}: recorded ${shown(left.a ?? null)}, now ${shown(left.b ?? null)}`,
        ],
  );
  const comments = rows.flatMap(({ case: file, run, scores }) =>
    scores.flatMap(({ name, comment }) =>
      comment === undefined ? [] : [`${oneLine(file)} run ${run}, ${name}: ${oneLine(comment, 400)}`],
    ),
  );
  const passed = rows.filter((row) => row.passed).length;
  return [
    ...table([names.map((name) => paint('dim', name)), ...cells]),
    ...lefts,
    ...comments,
    `${passed} of ${rows.length} runs passed`,
  ];
}

function sameText(isSame: boolean): string {
  return isSame ? 'same' : 'other';
}

/** The recorded value beside another one. */
function besideText(value: string, recorded: string): string {
  return value === recorded ? value : `${value} (${recorded})`;
}
