/** The verbs about schedules.
 *  It must never do the work of a verb. */
import type { Command } from 'commander';
import { OVERLAPS } from '../contract/schedule.ts';
import {
  createSchedule,
  deleteSchedule,
  listSchedules,
  pauseSchedule,
  resumeSchedule,
  showSchedule,
  triggerSchedule,
  updateSchedule,
} from './commands/schedules.ts';
import type { WithClient } from './invocation.ts';
import { interval } from './option-values.ts';
import type { ScheduleOptions } from './schedule-content.ts';

export function addScheduleVerbs(program: Command, withClient: WithClient): void {
  const schedule = program.command('schedule').description('what is submitted again and again');
  addCreate(schedule, withClient);
  addUpdate(schedule, withClient);
  schedule
    .command('list')
    .description('show when each fires next, and what became of its last instant')
    .action(async () => withClient(listSchedules));
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
    .description('fire again, from the next instant on, with the key of whoever resumes it')
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

function addCreate(schedule: Command, withClient: WithClient): void {
  const create = schedule
    .command('create <id>')
    .description('make a schedule: when (--cron or --every), and what (--tool, --agent or --file)');
  addTiming(addContent(create))
    .option('--starts <instant>', 'not before, as in 2027-01-31T12:00:00Z; default: now')
    .option('--ends <instant>', 'not after; default: never')
    .action(async (id: string, given: ScheduleOptions) =>
      withClient(async (invocation) => createSchedule(invocation, id, given)),
    );
}

function addUpdate(schedule: Command, withClient: WithClient): void {
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
