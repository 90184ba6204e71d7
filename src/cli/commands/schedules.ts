/** `adjutant schedule …`: makes, changes, lists, shows, pauses, resumes, triggers and deletes schedules.
 *  It must never decide when one fires. */
import type {
  Firing,
  ListedSchedule,
  ScheduleView,
  SubmittedSchedule,
} from '../../contract/schedule/schedule.ts';
import { LARGEST_LISTING } from '../../contract/request/request-listing.ts';
import { ADJUTANT } from '../command-name.ts';
import { durationWords, interval, OF_TENANT } from '../options/option-values.ts';
import { examples } from '../examples.ts';
import { EXIT, type ExitCode, usage } from '../failure.ts';
import type { CommandLine, Invocation } from '../invocation.ts';
import {
  changedContent,
  type ScheduleOptions,
  templateIn,
  templateWarnings,
  timingIn,
} from '../options/schedule-content.ts';
import { instantText, table, zonedText } from '../table.ts';
import { oneLine } from '../terminal.ts';
import type { Command } from 'commander';
import { OVERLAPS } from '../../contract/schedule/schedule.ts';

type Schedules = Pick<Invocation, 'client' | 'terminal' | 'json'>;

export function addSchedules({ program, withClient }: CommandLine): void {
  const schedule = program
    .command('schedule')
    .description('manage schedules: calls and runs that are submitted at an interval or by cron');
  addCreate(schedule, withClient);
  addUpdate(schedule, withClient);
  schedule
    .command('list')
    .description('show when each fires next, and what became of its last instant')
    .option('--tenant <name>', OF_TENANT)
    .action(async (given: { tenant?: string }) =>
      withClient(async (invocation) => listSchedules(invocation, given)),
    );
  schedule
    .command('show <id>')
    .description('show what it submits, and its last 100 instants')
    .action(async (id: string) => withClient(async (invocation) => showSchedule(invocation, id)));
  schedule
    .command('pause <id>')
    .description('fire nothing until it is resumed')
    .option('--note <text>', 'why; shown in the list')
    .action(async (id: string, given: { note?: string }) =>
      withClient(async (invocation) => pauseSchedule(invocation, id, given)),
    );
  schedule
    .command('resume <id>')
    .description('fire again, from the next instant on, with your key')
    .action(async (id: string) => withClient(async (invocation) => resumeSchedule(invocation, id)));
  schedule
    .command('trigger <id>')
    .description('fire now, beside its instants; also while it is paused')
    .option('--key <key>', 'the same key is the same firing; default: a new one')
    .action(async (id: string, given: { key?: string }) =>
      withClient(async (invocation) => triggerSchedule(invocation, id, given)),
    );
  schedule
    .command('delete <id>')
    .description('delete it with its history; what it has fired goes on')
    .action(async (id: string) => withClient(async (invocation) => deleteSchedule(invocation, id)));
}

function addCreate(schedule: Command, withClient: CommandLine['withClient']): void {
  const create = schedule
    .command('create <id>')
    .description(
      'create a schedule: its times (--cron or --every) and its submission (--tool, --agent or --file)',
    );
  examples(create, [
    `schedule create nightly --cron '30 2 * * *' --zone Europe/Berlin --agent default --query 'Summarise the day'`,
    'schedule create sync --every 15m --tool github.list_issues',
  ]);
  addTiming(addContent(create))
    .option('--starts <instant>', 'not before, as in 2027-01-31T12:00:00Z; default: now')
    .option('--ends <instant>', 'not after; default: never')
    .action(async (id: string, given: ScheduleOptions) =>
      withClient(async (invocation) => createSchedule(invocation, id, given)),
    );
}

function addUpdate(schedule: Command, withClient: CommandLine['withClient']): void {
  const update = schedule
    .command('update <id>')
    .description('change what is given, and leave the rest, its history and a pause as they are');
  addTiming(addContent(update))
    .option('--starts <instant>', 'not before, as in 2027-01-31T12:00:00Z; none: at once')
    .option('--ends <instant>', 'not after; none: never')
    .action(async (id: string, given: ScheduleOptions) =>
      withClient(async (invocation) => updateSchedule(invocation, id, given)),
    );
}

function addContent(command: Command): Command {
  return command
    .option('--cron <expression>', "five fields, or six with seconds first, as in '30 2 * * 1-5'")
    .option('--zone <name>', 'time zone of --cron, as in Europe/Berlin; default: UTC')
    .option('--every <time>', 'instead of --cron, as in 30s, 15m, 6h or 1d', interval)
    .option('--tool <name>', 'the tool that it calls, as in github.list_issues')
    .option('--arguments <json>', 'of the tool; default: {}')
    .option('--agent <name>', 'the agent that it starts a run of; default with --query: default')
    .option('--query <text>', 'what the run is asked')
    .option('--file <file>', '{"directives": [...]} or {"run": {...}}; - reads it from stdin');
}

function addTiming(command: Command): Command {
  return command
    .option('--overlap <policy>', `while an earlier request is open: ${OVERLAPS.join(', ')}; default: skip`)
    .option('--jitter <time>', 'each firing is later by a part of it, as in 30s; default: 0', interval)
    .option(
      '--catch-up <time>',
      'how late an instant is still fired, after an outage; default: 1h',
      interval,
    );
}

export async function createSchedule(
  invocation: Schedules,
  id: string,
  options: ScheduleOptions,
): Promise<ExitCode> {
  requireTiming(options);
  // The service names what is wrong with it.
  const content = { ...timingIn(options), ...(await templateIn(options)) };
  const schedule = { id, ...content } as unknown as SubmittedSchedule;
  const made = await invocation.client.schedules.create(schedule);
  const { terminal } = invocation;
  show(invocation, made, () => {
    terminal.out(`${made.id} fires next at ${nextText(made) ?? 'no time'}`);
    terminal.err(terminal.paintErr('dim', `what becomes of it: ${ADJUTANT} schedule show ${made.id}`));
  });
  await warn(invocation, made);
  return EXIT.done;
}

async function warn({ client, terminal }: Schedules, { template }: ScheduleView): Promise<void> {
  for (const { says, fix } of await templateWarnings(client, template)) {
    terminal.err(`${terminal.paintErr('yellow', 'warning')} ${says}`);
    terminal.err(`${terminal.paintErr('cyan', '    fix')} ${fix}`);
  }
}

/** Changes what is given, and leaves the rest as it is; refused if the schedule changed meanwhile. */
async function updateSchedule(
  invocation: Schedules,
  id: string,
  options: ScheduleOptions,
): Promise<ExitCode> {
  const { client, terminal } = invocation;
  const shown = await client.schedules.get(id);
  const changed = await client.schedules.replace(id, await changedContent(shown, options));
  const next = nextText(changed);
  const fires = next === null ? `is ${changed.status}` : `fires next at ${next}`;
  show(invocation, changed, () => terminal.out(`${changed.id} is changed; it ${fires}`));
  await warn(invocation, changed);
  return EXIT.done;
}

/** In the words of the command line. */
function requireTiming({ cron, every, zone, agent, query }: ScheduleOptions): void {
  if ((cron === undefined) === (every === undefined))
    throw usage('When it fires is not clear.', "Give one of --cron '30 2 * * *' and --every 6h.");
  if (zone !== undefined && cron === undefined)
    throw usage('--zone is the time zone of --cron.', 'Leave it out, or give --cron instead of --every.');
  if (agent !== undefined && query === undefined)
    throw usage('A run needs what it is asked.', 'Give --query <text> beside --agent.');
}

async function listSchedules(invocation: Schedules, { tenant }: { tenant?: string }): Promise<ExitCode> {
  const { client, terminal, json } = invocation;
  const schedules: ListedSchedule[] = [];
  let after: string | undefined;
  do {
    const page = await client.schedules.list({ after, tenant });
    schedules.push(...page.schedules);
    after = page.next ?? undefined;
  } while (after !== undefined);
  if (json) {
    for (const schedule of schedules) terminal.out(JSON.stringify(schedule));
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
  terminal.rows([head, ...schedules.map(row)]);
  return EXIT.done;
}

function row(schedule: ListedSchedule): string[] {
  const { counts, last, paused, waiting } = schedule;
  const lastText = last === null ? '-' : firingText(last);
  return [
    schedule.tenant === undefined ? schedule.id : `${schedule.tenant}~${schedule.id}`,
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

/** In UTC, as everything is shown, and on the clocks that the expression means. null: it fires no more. */
function nextText({ next_at: at, time_zone: zone }: ListedSchedule): string | null {
  if (at === null) return null;
  const local = zone === null ? null : zonedText(at, zone);
  return `${instantText(at)} UTC${local === null ? '' : ` (${local})`}`;
}

export async function showSchedule(invocation: Schedules, id: string): Promise<ExitCode> {
  const shown = await invocation.client.schedules.get(id);
  if (invocation.json) invocation.terminal.out(JSON.stringify(shown));
  else printSchedule(invocation, shown, await firedStates(invocation.client, shown));
  return EXIT.done;
}

/** A request that was triggered is a little older than its entry. */
const MINUTE_MS = 60_000;

/** State by request, for those of the history that the list of requests has. */
async function firedStates(
  client: Schedules['client'],
  { id, history }: ScheduleView,
): Promise<ReadonlyMap<string, string>> {
  const oldest = history.at(-1)?.scheduled_at;
  if (oldest === undefined) return new Map();
  const since = new Date(Date.parse(oldest) - MINUTE_MS).toISOString();
  const found = await client
    .requests({ q: `schedule.${id}.`, since, limit: LARGEST_LISTING })
    .catch(() => null);
  return new Map(found?.requests.map((request) => [request.request_id, request.status]));
}

function printSchedule(
  { terminal }: Schedules,
  shown: ScheduleView,
  states: ReadonlyMap<string, string>,
): void {
  const { id, status, paused, template, overlap } = shown;
  const next = nextText(shown) ?? 'never';
  const facts = [
    ['schedule', `${id}, ${status}`],
    ['when', oneLine(whenText(shown), 160)],
    ['next', next],
    ...(paused === null ? [] : [['paused', oneLine(pauseText(paused), 300)]]),
    ...(shown.waiting ? [['waits', oneLine(waitText(shown.waiting), 400)]] : []),
    ['overlap', overlap],
    ...boundFacts(shown),
    ...(shown.edited_at === null ? [] : [['changed', `${instantText(shown.edited_at)} UTC`]]),
    ['submits', oneLine(JSON.stringify(template), 200)],
    ...(shown.fires_as === null ? [] : [['fires as', oneLine(shown.fires_as, 80)]]),
  ];
  for (const line of table(facts)) terminal.out(line);
  if (shown.history.length === 0) return;
  terminal.out('');
  const head = ['INSTANT (UTC)', 'OUTCOME', 'ITS REQUEST', 'REQUEST', 'REASON'];
  const rows = shown.history.map((firing) => firingRow(firing, states));
  terminal.rows([head, ...rows]);
}

/** Only what was given, beside how late an instant is still fired. */
function boundFacts({
  jitter_ms: jitter,
  catch_up_ms: catchUp,
  starts_at,
  ends_at,
}: ScheduleView): string[][] {
  return [
    ...(jitter === 0 ? [] : [['jitter', `up to ${durationWords(jitter)}`]]),
    ['catch up', durationWords(catchUp)],
    ...(starts_at === null ? [] : [['starts', `${instantText(starts_at)} UTC`]]),
    ...(ends_at === null ? [] : [['ends', `${instantText(ends_at)} UTC`]]),
  ];
}

function waitText({ since, reason }: NonNullable<ScheduleView['waiting']>): string {
  return `since ${instantText(since)} UTC, tried every 5 s: ${reason}`;
}

function pauseText({ at, by, note }: NonNullable<ScheduleView['paused']>): string {
  return [`since ${instantText(at)} UTC`, by === null ? '' : `by ${by}`, note ?? '']
    .filter(Boolean)
    .join(', ');
}

function firingRow(
  { scheduled_at: at, outcome, instants, request_id: request, reason }: Firing,
  states: ReadonlyMap<string, string>,
): string[] {
  const many = instants > 1 ? ` (${instants} instants)` : '';
  const state = states.get(request ?? '') ?? '-';
  return [instantText(at), `${outcome}${many}`, state, request ?? '-', oneLine(reason ?? '-', 200)];
}

async function pauseSchedule(
  invocation: Schedules,
  id: string,
  { note }: { readonly note?: string },
): Promise<ExitCode> {
  const shown = await invocation.client.schedules.pause(id, note === undefined ? {} : { note });
  show(invocation, shown, () => invocation.terminal.out(`${shown.id} is ${shown.status}`));
  return EXIT.done;
}

async function resumeSchedule(invocation: Schedules, id: string): Promise<ExitCode> {
  const shown = await invocation.client.schedules.resume(id);
  const next = nextText(shown);
  const fires = next === null ? '' : `, and fires next at ${next}`;
  show(invocation, shown, () => invocation.terminal.out(`${shown.id} is ${shown.status}${fires}`));
  return EXIT.done;
}

async function triggerSchedule(
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

async function deleteSchedule(invocation: Schedules, id: string): Promise<ExitCode> {
  const shown = await invocation.client.schedules.delete(id);
  show(invocation, shown, () => invocation.terminal.out(`${shown.id} is deleted; what it has fired goes on`));
  return EXIT.done;
}

function show({ terminal, json }: Schedules, value: unknown, print: () => void): void {
  if (json) terminal.out(JSON.stringify(value));
  else print();
}
