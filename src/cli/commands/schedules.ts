/** `adjutant schedule …`: makes, lists, shows, pauses, resumes, triggers and deletes schedules.
 *  It must never decide when one fires. */
import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import type { Firing, ListedSchedule, ScheduleView, SubmittedSchedule } from '../../contract/schedule.ts';
import { ADJUTANT } from '../command-name.ts';
import { durationWords } from '../duration-value.ts';
import { EXIT, type ExitCode, usage } from '../failure.ts';
import type { Invocation } from '../invocation.ts';
import { objectArgument } from '../object-argument.ts';
import { table } from '../table.ts';
import { templateWarnings } from '../template-warnings.ts';
import { oneLine } from '../terminal.ts';
import { instantText } from '../time-text.ts';

export interface NewScheduleOptions {
  readonly cron?: string;
  readonly zone?: string;
  /** Milliseconds, as `jitter` and `catchUp`. */
  readonly every?: number;
  readonly jitter?: number;
  readonly starts?: string;
  readonly ends?: string;
  readonly overlap?: string;
  readonly catchUp?: number;
  readonly tool?: string;
  readonly arguments?: string;
  readonly agent?: string;
  readonly query?: string;
  readonly file?: string;
}

type Schedules = Pick<Invocation, 'client' | 'terminal' | 'json'>;

export async function createSchedule(
  invocation: Schedules,
  id: string,
  options: NewScheduleOptions,
): Promise<ExitCode> {
  requireTiming(options);
  const { cron, zone, every, jitter, starts, ends, overlap, catchUp } = options;
  const timing = {
    cron,
    time_zone: zone,
    every_ms: every,
    jitter_ms: jitter,
    catch_up_ms: catchUp,
    starts_at: starts,
    ends_at: ends,
    overlap,
  };
  const given = Object.fromEntries(Object.entries(timing).filter(([, value]) => value !== undefined));
  // The service names what is wrong with it.
  const schedule = { id, ...given, ...(await templateOf(options)) } as unknown as SubmittedSchedule;
  const made = await invocation.client.schedules.create(schedule);
  const { terminal } = invocation;
  show(invocation, made, () => {
    terminal.out(
      `${made.id} fires next at ${made.next_at === null ? 'no time' : instantText(made.next_at)} UTC`,
    );
    terminal.err(terminal.paintErr('dim', `what becomes of it: ${ADJUTANT} schedule show ${made.id}`));
  });
  for (const { says, fix } of await templateWarnings(invocation.client, made.template)) {
    terminal.err(`${terminal.paintErr('yellow', 'warning')} ${says}`);
    terminal.err(`${terminal.paintErr('cyan', '    fix')} ${fix}`);
  }
  return EXIT.done;
}

/** In the words of the command line. */
function requireTiming({ cron, every, zone, agent, query }: NewScheduleOptions): void {
  if ((cron === undefined) === (every === undefined))
    throw usage('When it fires is not clear.', "Give one of --cron '30 2 * * *' and --every 6h.");
  if (zone !== undefined && cron === undefined)
    throw usage('--zone is the time zone of --cron.', 'Leave it out, or give --cron instead of --every.');
  if (agent !== undefined && query === undefined)
    throw usage('A run needs what it is asked.', 'Give --query <text> beside --agent.');
}

type GivenTemplate = Pick<SubmittedSchedule, 'directives' | 'run'>;

/** One of a tool, an agent, and a file. */
async function templateOf({
  tool,
  agent,
  query,
  file,
  ...given
}: NewScheduleOptions): Promise<GivenTemplate> {
  const named = [tool, agent, file].filter((each) => each !== undefined);
  if (named.length !== 1) throw usage('What it submits is not clear.', HOW);
  if (tool !== undefined) {
    const args = given.arguments === undefined ? {} : { arguments: objectArgument(given.arguments) };
    return { directives: [{ type: 'tool_exec', tool_name: tool, ...args }] };
  }
  if (agent !== undefined) return { run: { agent, ...(query === undefined ? {} : { query }) } };
  return fileTemplate(file ?? '');
}

const HOW =
  'Give one of --tool <name>, --agent <name> with --query <text>, and --file <file> with {"directives": [...]} or {"run": {...}}.';

async function fileTemplate(file: string): Promise<GivenTemplate> {
  const content = await (file === '-' ? text(process.stdin) : readFile(file, 'utf8')).catch(
    (error: unknown) => {
      throw usage(
        `${file} cannot be read: ${(error as Error).message}`,
        'Name a readable file, or - for stdin.',
      );
    },
  );
  const value = objectArgument(content);
  if ('directives' in value || 'run' in value) return value;
  return { directives: [value] };
}

export async function listSchedules(invocation: Schedules): Promise<ExitCode> {
  const { client, terminal, json } = invocation;
  const schedules: ListedSchedule[] = [];
  let after: string | undefined;
  do {
    const page = await client.schedules.list(after === undefined ? {} : { after });
    schedules.push(...page.schedules);
    after = page.next ?? undefined;
  } while (after !== undefined);
  if (json) {
    terminal.out(JSON.stringify({ schedules, next: null }));
    return EXIT.done;
  }
  const head = [
    'ID',
    'STATUS',
    'WHEN',
    'NEXT (UTC)',
    'FIRED',
    'SKIPPED',
    'FAILED',
    'MISSED',
    'LAST, OR WHY IT WAITS OR IS PAUSED',
  ];
  for (const line of table([head, ...schedules.map(row)])) terminal.out(line);
  return EXIT.done;
}

function row(schedule: ListedSchedule): string[] {
  const { counts, last, paused, waiting } = schedule;
  const lastText = last === null ? '-' : firingText(last);
  return [
    schedule.id,
    schedule.status,
    oneLine(whenText(schedule), 80),
    schedule.next_at === null ? '-' : instantText(schedule.next_at),
    ...[counts.fired, counts.skipped, counts.failed, counts.missed].map(String),
    oneLine(paused?.note ?? waiting?.reason ?? lastText, 120),
  ];
}

function firingText({ outcome, reason }: Firing): string {
  return reason === null ? outcome : `${outcome}: ${reason}`;
}

function whenText({ cron, time_zone: zone, every_ms: everyMs }: ListedSchedule): string {
  return cron === null ? `every ${durationWords(Number(everyMs))}` : `${cron} (${zone})`;
}

export async function showSchedule(invocation: Schedules, id: string): Promise<ExitCode> {
  const shown = await invocation.client.schedules.get(id);
  show(invocation, shown, () => printSchedule(invocation, shown));
  return EXIT.done;
}

function printSchedule({ terminal }: Schedules, shown: ScheduleView): void {
  const { id, status, paused, template, overlap } = shown;
  const next = shown.next_at === null ? 'never' : `${instantText(shown.next_at)} UTC`;
  const facts = [
    ['schedule', `${id}, ${status}`],
    ['when', oneLine(whenText(shown), 160)],
    ['next', next],
    ...(paused === null ? [] : [['paused', oneLine(pauseText(paused), 300)]]),
    ...(shown.waiting ? [['waits', oneLine(waitText(shown.waiting), 400)]] : []),
    ['overlap', overlap],
    ['submits', oneLine(JSON.stringify(template), 200)],
    ...(shown.fires_as === null ? [] : [['fires as', oneLine(shown.fires_as, 80)]]),
  ];
  for (const line of table(facts)) terminal.out(line);
  if (shown.history.length === 0) return;
  terminal.out('');
  const head = ['INSTANT (UTC)', 'OUTCOME', 'REQUEST', 'REASON'];
  for (const line of table([head, ...shown.history.map(firingRow)])) terminal.out(line);
}

function waitText({ since, reason }: NonNullable<ScheduleView['waiting']>): string {
  return `since ${instantText(since)} UTC, tried every 5 s: ${reason}`;
}

function pauseText({ at, by, note }: NonNullable<ScheduleView['paused']>): string {
  return [`since ${instantText(at)} UTC`, by === null ? '' : `by ${by}`, note ?? '']
    .filter(Boolean)
    .join(', ');
}

function firingRow({ scheduled_at: at, outcome, instants, request_id: request, reason }: Firing): string[] {
  const many = instants > 1 ? ` (${instants} instants)` : '';
  return [instantText(at), `${outcome}${many}`, request ?? '-', oneLine(reason ?? '-', 200)];
}

export async function pauseSchedule(
  invocation: Schedules,
  id: string,
  { note }: { readonly note?: string },
): Promise<ExitCode> {
  const shown = await invocation.client.schedules.pause(id, note === undefined ? {} : { note });
  show(invocation, shown, () => invocation.terminal.out(`${shown.id} is ${shown.status}`));
  return EXIT.done;
}

export async function resumeSchedule(invocation: Schedules, id: string): Promise<ExitCode> {
  const shown = await invocation.client.schedules.resume(id);
  const next = shown.next_at === null ? '' : `, and fires next at ${instantText(shown.next_at)} UTC`;
  show(invocation, shown, () => invocation.terminal.out(`${shown.id} is ${shown.status}${next}`));
  return EXIT.done;
}

export async function triggerSchedule(
  invocation: Schedules,
  id: string,
  { key }: { readonly key?: string },
): Promise<ExitCode> {
  const { client, terminal } = invocation;
  const firing = await client.schedules.trigger(id, key === undefined ? {} : { key });
  show(invocation, firing, () => {
    terminal.out(String(firing.request_id));
    terminal.err(terminal.paintErr('dim', `follow it: ${ADJUTANT} tail ${firing.request_id}`));
  });
  return EXIT.done;
}

export async function deleteSchedule(invocation: Schedules, id: string): Promise<ExitCode> {
  const shown = await invocation.client.schedules.delete(id);
  show(invocation, shown, () => invocation.terminal.out(`${shown.id} is deleted; what it has fired goes on`));
  return EXIT.done;
}

function show({ terminal, json }: Schedules, value: unknown, print: () => void): void {
  if (json) terminal.out(JSON.stringify(value));
  else print();
}
