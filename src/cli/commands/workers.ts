/** `adjutant workers`: the processes, their lanes and load; `drain` and `resume` control dispatch to them.
 *  It must never drain a process that the name does not mean beyond doubt. */
import { ADJUTANT } from '../command-name.ts';
import { closeNames } from '../../platform/bounds/close-names.ts';
import type { DirectiveClient } from '../../contract/directive/directive-client.ts';
import { type ListedWorker, takesWork } from '../../contract/request/worker-listing.ts';
import { CliFailure, EXIT, type ExitCode } from '../failure.ts';
import type { CommandLine, Invocation } from '../invocation.ts';
import { programsText } from '../following/signal-gist.ts';
import { instantText } from '../table.ts';
import { oneLine, type Paint } from '../terminal.ts';
import { defaultVerb } from '../options/option-values.ts';

/** Enough of an id to tell the processes of one installation apart, without its host and number. */
const SHOWN_CHARACTERS = 8;

export function addWorkers({ program, withClient }: CommandLine): void {
  const verbs = program
    .command('workers')
    .description('list the processes of the service, drain and resume them');
  defaultVerb(verbs, 'list')
    .description('list processes with their roles, lanes and load')
    .action(async () => withClient(workers));
  verbs
    .command('drain <id>')
    .description('it takes no more work, finishes what it has, and stays idle until it is stopped')
    .action(async (id: string) => withClient(async (invocation) => drainWorker(invocation, id, true)));
  verbs
    .command('resume <id>')
    .description('a drained one works again')
    .action(async (id: string) => withClient(async (invocation) => drainWorker(invocation, id, false)));
}

async function workers({ client, terminal, json }: Invocation): Promise<ExitCode> {
  const listing = await client.workers();
  if (json) {
    for (const worker of listing.workers) terminal.out(JSON.stringify(worker));
    return EXIT.done;
  }
  const head = ['ID', 'ROLES', 'STATE', 'RUNNING', 'HOST', 'PID', 'VERSION', 'SINCE (UTC)', 'LANES'];
  const rows = listing.workers.map((worker) => workerRow(worker, terminal.paint));
  terminal.rows([head, ...rows]);
  const { lanes } = await client.lanes();
  const served = lanes.flatMap(({ name, programs }) =>
    programs === undefined ? [] : [[name, programsText(programs)]],
  );
  if (served.length > 0) terminal.rows([['LANE', 'PROGRAMS'], ...served]);
  for (const role of ['engine', 'worker'])
    if (!listing.workers.some(({ roles }) => roles.includes(role)))
      terminal.err(terminal.paintErr('yellow', `No ${role} works. Start one: \`${ADJUTANT} ${role}\`.`));
  return EXIT.done;
}

/** `name`: the beginning of an id, which no other one has. */
export async function drainWorker(
  { client, terminal, json }: Invocation,
  name: string,
  drain: boolean,
): Promise<ExitCode> {
  const worker = await workerNamed(client, name);
  if (drain && !takesWork(worker))
    throw new CliFailure({ what: `${shownId(worker)} is an API: ${NOTHING_TO_DRAIN}`, how: STOP_IT });
  const asked = await client.drainWorker(worker.id, drain);
  if (json) terminal.out(JSON.stringify(asked));
  else terminal.out(`${shownId(worker)} on ${oneLine(worker.host, 80)} ${drain ? DRAINS : 'works again'}`);
  return EXIT.done;
}

const NOTHING_TO_DRAIN = 'it takes no work that could be drained.';
const STOP_IT = 'Stop it with SIGTERM when another API answers: it ends its open answers first.';

const DRAINS = `takes no more work and finishes what it has; \`${ADJUTANT} workers\` shows when it is drained`;

async function workerNamed(client: DirectiveClient, name: string): Promise<ListedWorker> {
  const listing = await client.workers();
  if (name === '')
    throw new CliFailure({ what: 'The id of a process is missing.', how: idsText(name, listing.workers) });
  const meant = listing.workers.filter(({ id }) => id.startsWith(name));
  const [only, ...others] = meant;
  if (only !== undefined && others.length === 0) return only;
  const what = `${meant.length === 0 ? 'No worker has' : 'Several workers have'} an id that begins with "${oneLine(name, 80)}".`;
  throw new CliFailure({ what, how: idsText(name, meant.length === 0 ? listing.workers : meant) });
}

function idsText(name: string, known: readonly ListedWorker[]): string {
  if (known.length === 0) return `Start one: \`${ADJUTANT} worker\`.`;
  const shown = known.map(shownId);
  const close = closeNames(name, shown);
  const question = close.length === 0 ? '' : `Did you mean ${close.join(' or ')}? `;
  return `${question}There are ${shown.join(', ')}.`;
}

function shownId({ id }: ListedWorker): string {
  return (id.split('.')[0] ?? id).slice(0, SHOWN_CHARACTERS);
}

/** A process reports every 2 s: this one has missed three times, and its listed state may be outdated. */
const NOT_SEEN_AFTER_MS = 6_500;

export function stateText({
  state,
  silent_ms: silentMs = 0,
}: Pick<ListedWorker, 'state' | 'silent_ms'>): string {
  return silentMs < NOT_SEEN_AFTER_MS ? state : `not seen for ${Math.round(silentMs / 1_000)} s`;
}

function workerRow(worker: ListedWorker, paint: Paint): string[] {
  const { roles, running, concurrency, host, pid, version, started_at: since, lanes } = worker;
  return [
    paint('bold', shownId(worker)),
    roles.join(' '),
    paint(stateText(worker) === 'working' ? 'green' : 'yellow', stateText(worker)),
    `${running}/${concurrency}`,
    host,
    String(pid),
    version,
    instantText(since),
    lanes === null ? 'many' : lanes.map(({ name }) => name).join(' ') || '-',
  ];
}
