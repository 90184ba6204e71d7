/** `adjutant dead`: lists directives that ended in an error, and redrives them.
 *  It must never redrive more than the filter or the given names select. */
import type { Command } from 'commander';
import type { DeadLetter, DeadLetterFilter, Redrive } from '../../contract/directive/dead-letter.ts';
import type { DirectiveClient } from '../../contract/directive/directive-client.ts';
import { isObject } from '../../contract/json/json-object.ts';
import { ADJUTANT } from '../command-name.ts';
import { examples } from '../examples.ts';
import { EXIT, type ExitCode, usage } from '../failure.ts';
import { filterHints } from '../failure-lines.ts';
import { isResumable } from '../following/run-lines.ts';
import type { CommandLine, Invocation } from '../invocation.ts';
import { defaultVerb, OF_TENANT, wholeNumber } from '../options/option-values.ts';
import { instantText } from '../table.ts';
import { oneLine } from '../terminal.ts';

interface DeadOptions {
  readonly lane?: string;
  readonly errorType?: string;
  readonly limit?: number;
  readonly all?: true;
  readonly dryRun?: true;
  readonly tenant?: string;
  readonly oldestFirst?: true;
}

const REDRIVE_STEP = 100;
/** Largest answer of the service: a dry run is not repeated, since it would find the same ones. */
const LARGEST_STEP = 1_000;

function dryOf({ dryRun }: DeadOptions): { dry_run?: true } {
  return dryRun ? { dry_run: true } : {};
}

const nothingNamed = (): Error =>
  usage(
    'Nothing is selected to redrive.',
    'Name <request>/<directive>, give --lane or --error-type, or use --all.',
  );

function filterOf({ lane, errorType }: DeadOptions): DeadLetterFilter {
  return {
    ...(lane === undefined ? {} : { lane }),
    ...(errorType === undefined ? {} : { error_type: errorType }),
  };
}

export function addDead({ program, withClient }: CommandLine): void {
  const dead = program.command('dead').description('list dead letters, and execute them again');
  filtered(defaultVerb(dead, 'list').description('show dead letters, newest first'))
    .option('--oldest-first', 'the oldest first, as a redrive takes them')
    .option('--tenant <name>', OF_TENANT)
    .action(async (given: DeadOptions) => withClient(async (invocation) => listDead(invocation, given)));
  const redrive = dead
    .command('redrive [names...]')
    .description('execute dead letters again: those named <request>/<directive>, or all that match');
  examples(redrive, ['dead redrive refund-1001/a', 'dead redrive --error-type timeout --dry-run']);
  filtered(
    redrive
      .option('--all', 'every dead letter')
      .option('--dry-run', 'name them, at most 1000, and do nothing'),
  ).action(async (names: string[], given: DeadOptions) =>
    withClient(async (invocation) => redriveDead(invocation, names, given)),
  );
}

function filtered(command: Command): Command {
  return command
    .option('--lane <lane>', 'only of this lane')
    .option('--error-type <type>', 'only with this type of error')
    .option('--limit <count>', '1 to 1000 dead letters', wholeNumber);
}

async function listDead({ client, terminal, json }: Invocation, options: DeadOptions): Promise<ExitCode> {
  const { tenant } = options;
  const limit = options.limit === undefined ? {} : { limit: options.limit };
  const order = options.oldestFirst ? 'oldest' : undefined;
  const page = await client.deadLetters({ ...filterOf(options), ...limit, tenant, order });
  if (json) for (const letter of page.dead_letters) terminal.out(JSON.stringify(letter));
  else if (page.dead_letters.length > 0) terminal.rows([HEAD, ...page.dead_letters.map(row)]);
  if (page.dead_letters.length === 0 && !json)
    await sayNothing(options, { client, terminal }, 'no dead letter');
  if (page.next !== null) terminal.err(`more, of ${page.total} in all: --limit shows up to 1000 at once`);
  return EXIT.done;
}

/** Explains an empty result that is probably a mistake. */
async function sayNothing(
  options: DeadOptions,
  { client, terminal }: Pick<Invocation, 'client' | 'terminal'>,
  nothing: string,
): Promise<void> {
  const hints = await filterHints(options, client);
  terminal.err([nothing, ...hints].join(': '));
}

const HEAD = ['ENDED (UTC)', 'REQUEST', 'DIRECTIVE', 'CALLS', 'ATTEMPTS', 'ERROR'];

function row({ tenant, request_id, id, name, about, error, attempts, ended_at }: DeadLetter): string[] {
  const what = `${name ?? '-'}${about === undefined ? '' : `, end of ${endOf(about)}`}`;
  const fault = oneLine(`${error.type}: ${error.message}`, 1_000);
  const request = tenant === undefined ? request_id : `${tenant}~${request_id}`;
  return [instantText(ended_at), request, id, oneLine(what, 200), String(attempts), fault];
}

function endOf({ request_id: requestId, id }: NonNullable<DeadLetter['about']>): string {
  return id === null ? `the run ${requestId}` : `${requestId}/${id}`;
}

/** Redrives `request/directive` names, or everything that matches the filter, in steps with visible progress. */
export async function redriveDead(
  invocation: Invocation,
  names: readonly string[],
  options: DeadOptions,
): Promise<ExitCode> {
  if (names.length > 0) return redriveNamed(invocation, names, options);
  if (options.lane === undefined && options.errorType === undefined && !options.all) throw nothingNamed();
  return redriveFiltered(invocation, options);
}

async function redriveNamed(
  { client, terminal, json }: Invocation,
  names: readonly string[],
  options: DeadOptions,
): Promise<ExitCode> {
  const directives = names.map((name) => {
    const slash = name.indexOf('/');
    if (slash < 0)
      throw usage(
        `'${name}' does not name a dead letter.`,
        `Write it as <request>/<directive>, as \`${ADJUTANT} dead\` lists it.`,
      );
    return { request_id: name.slice(0, slash), id: name.slice(slash + 1) };
  });
  const redrive = await client.redrive({ directives, ...dryOf(options) });
  await report(redrive, { client, terminal, json });
  return redrive.not_found.length + redrive.refused.length > 0 ? EXIT.failed : EXIT.done;
}

async function redriveFiltered(
  { client, terminal, json, interrupt }: Invocation,
  options: DeadOptions,
): Promise<ExitCode> {
  const everything = options.all ? { all: true as const } : {};
  let anyRefused = false;
  let anyDone = false;
  for (let todo = options.limit ?? Infinity; todo > 0 && !interrupt.aborted;) {
    const step = await client.redrive({
      ...filterOf(options),
      ...everything,
      limit: Math.min(options.dryRun ? LARGEST_STEP : REDRIVE_STEP, todo),
      ...dryOf(options),
    });
    await report(step, { client, terminal, json });
    const isNothing = step.redriven.length + step.refused.length + (step.found ?? []).length === 0;
    if (isNothing && step.left === 0 && !json && !anyDone)
      await sayNothing(options, { client, terminal }, 'nothing to redrive');
    anyDone = true;
    if (options.dryRun) break;
    todo -= step.redriven.length;
    anyRefused ||= step.refused.length > 0;
    // Refused ones stay listed, and would be refused again.
    if (step.left <= step.refused.length || step.redriven.length === 0) break;
    terminal.err(`${step.left} left`);
  }
  if (interrupt.aborted) return EXIT.interrupted;
  return anyRefused ? EXIT.failed : EXIT.done;
}

async function report(
  redrive: Redrive,
  { client, terminal, json }: Pick<Invocation, 'client' | 'terminal' | 'json'>,
): Promise<void> {
  const found = redrive.found ?? [];
  const refs = json ? [] : [...redrive.redriven.map(({ from }) => from), ...found];
  const known = await remarksOf(refs, client);
  const remark = (ref: Ref): string[] => known.remarks.get(nameOf(ref)) ?? [];
  const rows = [
    ...redrive.redriven.map(({ from, to }) => [nameOf(from), '→', to.id, ...remark(from)]),
    ...found.map((ref) => [nameOf(ref), 'would be redriven', ...remark(ref)]),
  ];
  if (json) return terminal.out(JSON.stringify(redrive));
  terminal.rows(rows);
  for (const id of known.resumable)
    terminal.err(`the run of ${id} has ended; to continue it: ${ADJUTANT} resume ${id}`);
  for (const { request_id, id } of redrive.not_found) terminal.err(`no dead letter: ${request_id}/${id}`);
  for (const { from, code, detail } of redrive.refused)
    terminal.err(`not redriven: ${from.request_id}/${from.id}: ${code}: ${detail}`);
}

interface Ref {
  readonly request_id: string;
  readonly id: string;
}

/** Each is read by itself. */
const MOST_READ = 50;

const nameOf = ({ request_id, id }: Ref): string => `${request_id}/${id}`;

/** Remarks by the names of the first fifty, and the requests among them whose ended run can be resumed. */
async function remarksOf(
  refs: readonly Ref[],
  client: Pick<DirectiveClient, 'directive' | 'request'>,
): Promise<{ remarks: ReadonlyMap<string, string[]>; resumable: readonly string[] }> {
  const read = refs.slice(0, MOST_READ).map(async (ref) => {
    const view = await client.directive(ref.request_id, ref.id).catch(() => null);
    const isStep = view?.directive.metadata?.['run_id'] === ref.request_id;
    const remarks = [...(mayHaveHappened(view?.result?.data) ? [REPEATS] : []), ...(isStep ? [ALONE] : [])];
    return { ref, isStep, remark: remarks.length === 0 ? [] : [remarks.join('; ')] };
  });
  const known = await Promise.all(read);
  const ofRuns = [...new Set(known.flatMap(({ ref, isStep }) => (isStep ? [ref.request_id] : [])))];
  const runs = await Promise.all(ofRuns.map(async (id) => client.request(id).catch(() => null)));
  return {
    remarks: new Map(known.map(({ ref, remark }) => [nameOf(ref), remark])),
    resumable: runs.flatMap((view) => (view?.run && isResumable(view.run) ? [view.request_id] : [])),
  };
}

/** Whether the call may have reached the tool without an answer. */
export function mayHaveHappened(data: unknown): boolean {
  const result = isObject(data) ? data['result'] : null;
  const error = isObject(result) ? result['error'] : null;
  if (!isObject(error)) return false;
  return (
    error['type'] === 'outcome_unknown' ||
    (isObject(error['details']) && error['details']['outcome'] === 'unknown')
  );
}

/** Printed beside each such dead letter that is redriven, or would be. */
export const REPEATS = 'may have happened already: it is called again';

const ALONE = 'repeats the call alone: the run does not read its answer';
