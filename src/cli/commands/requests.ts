/** `adjutant requests`: lists requests, and cancels or redrives those that a filter chooses.
 *  It must never act on more than was chosen, nor on all because nothing was. */
import type { BulkCancelBody, BulkRedrive } from '../../contract/directive/bulk.ts';
import type { ListedRequest, RequestFilter, RequestListing } from '../../contract/request/request-listing.ts';
import { pause } from '../../platform/lifecycle.ts';
import { EXIT, type ExitCode, usage } from '../failure.ts';
import { examples } from '../examples.ts';
import { filterHints } from '../failure-lines.ts';
import type { CommandLine, Invocation } from '../invocation.ts';
import { instantText, timeText } from '../table.ts';
import { cut, oneLine, type Style, type Terminal } from '../terminal.ts';
import { type Command, Option } from 'commander';
import { REQUEST_ORDERS, REQUEST_STATUSES } from '../../contract/request/request-listing.ts';
import { decimal, OF_TENANT, pastInstantOption, wholeNumber } from '../options/option-values.ts';

interface FilterOptions {
  readonly status?: RequestFilter['status'];
  readonly agent?: string;
  readonly tool?: string;
  readonly errorType?: string;
  readonly tag?: string;
  readonly conversation?: string;
  readonly since?: string;
  readonly until?: string;
  readonly q?: string;
  readonly score?: string;
  readonly scoreMin?: number;
  readonly scoreMax?: number;
}

interface ListOptions extends FilterOptions {
  readonly limit?: number;
  readonly cursor?: string;
  readonly watch?: true;
  readonly tenant?: string;
  readonly sort?: (typeof REQUEST_ORDERS)[number];
}

interface BulkOptions extends FilterOptions {
  readonly all?: true;
  readonly dryRun?: true;
  readonly limit?: number;
  readonly cursor?: string;
  readonly reason?: string;
}

const WATCH_EVERY_MS = 1_000;
const LONGEST_TEXT = 60;
/** An index that is further behind is worth a line. */
const LATE_MS = 2_000;

const COLOURS: Readonly<Partial<Record<ListedRequest['status'], Style>>> = {
  failed: 'red',
  waiting: 'yellow',
  open: 'cyan',
  succeeded: 'green',
};

export function addRequests({ program, withClient }: CommandLine): void {
  const requests = program
    .command('requests')
    .description('list requests, and cancel or redrive many at once');
  const list = requests
    .command('list', { isDefault: true })
    .description('show matching requests, newest first');
  filtered(list)
    .option('--limit <count>', '1 to 200; default: 50', wholeNumber)
    .addOption(
      new Option('--sort <order>', 'newest, longest or most expensive first; default: created').choices(
        REQUEST_ORDERS,
      ),
    )
    .option('--cursor <cursor>', 'go on where a page ended')
    .option('--tenant <name>', OF_TENANT)
    .option('--watch', 'then show each one that is new or changes, until interrupted')
    .action(async (given: ListOptions) => withClient(async (invocation) => listRequests(invocation, given)));
  examples(list, ['requests --status failed --since 2h', 'requests --tag refund --json | jq -r .request_id']);
  bulk(requests.command('cancel').description('cancel matching requests that have not ended'))
    .option('--reason <text>', 'shown in the terminal signals')
    .action(async (given: BulkOptions) =>
      withClient(async (invocation) => cancelRequests(invocation, given)),
    );
  bulk(requests.command('redrive').description('execute the dead letters of matching requests again')).action(
    async (given: BulkOptions) => withClient(async (invocation) => redriveRequests(invocation, given)),
  );
}

function bulk(command: Command): Command {
  return filtered(command)
    .option('--all', 'every request')
    .option('--dry-run', 'name them, and do nothing')
    .option('--limit <count>', 'at most this many requests, up to 1000; default: 100', wholeNumber)
    .option('--cursor <place>', 'go on where the command before has stopped');
}

function filtered(command: Command): Command {
  return command
    .addOption(new Option('--status <status>', 'only of this status').choices(REQUEST_STATUSES))
    .option('--agent <agent>', 'only with a run of this agent')
    .option('--tool <tool>', 'only with a call of this tool')
    .option('--error-type <type>', 'only with an error of this type')
    .option('--tag <tag>', 'only with this tag')
    .option('--conversation <id>', 'only of this conversation')
    .option('--score <name>', 'only with a score of this name')
    .option('--score-min <value>', 'only with that score of at least this', decimal)
    .option('--score-max <value>', 'only with that score of at most this', decimal)
    .option(
      '--since <when>',
      'only created since then: 2h, 7d, noon, yesterday, 14:30 (local time), or an instant',
      when,
    )
    .option('--until <when>', 'only created before then', when)
    .option('--q <words>', 'only with these words in question, names or tags, or at the beginning of the id');
}

/** The command line passes the value before, too. */
function when(text: string): string {
  return pastInstantOption(text);
}

async function listRequests(invocation: Invocation, options: ListOptions): Promise<ExitCode> {
  const { limit, cursor, sort, tenant } = options;
  const page = await invocation.client.requests({ ...filterOf(options), limit, cursor, sort, tenant });
  sayTimes(invocation, options);
  if (options.watch) return watch(invocation, options, page);
  show(invocation, page.requests, HEAD);
  if (!invocation.json && page.requests.length === 0)
    invocation.terminal.err(
      ['no request matches', ...(await filterHints(options, invocation.client))].join(': '),
    );
  if (!invocation.json) sayRest(invocation.terminal, page);
  return EXIT.done;
}

/** How times were understood: they are typed in the zone of the terminal, and shown in UTC. */
function sayTimes({ terminal, json }: Invocation, { since, until }: FilterOptions): void {
  if (json || (since === undefined && until === undefined)) return;
  const from = since === undefined ? [] : [`from ${instantText(since)}`];
  const before = until === undefined ? [] : [`before ${instantText(until)}`];
  terminal.err(terminal.paintErr('dim', `created ${[...from, ...before].join(', ')} UTC`));
}

/** One line for each that is new or has changed, the oldest change first, as a log. */
async function watch(invocation: Invocation, options: ListOptions, first: RequestListing): Promise<ExitCode> {
  const { client, interrupt } = invocation;
  let shown = new Map<string, string>();
  for (
    let page = first;
    ;
    page = await client.requests({
      ...filterOf(options),
      limit: options.limit,
      tenant: options.tenant,
    })
  ) {
    const now = new Map(page.requests.map((request) => [request.request_id, JSON.stringify(request)]));
    const changed = page.requests.filter(({ request_id: id }) => shown.get(id) !== now.get(id));
    show(invocation, changed.toReversed());
    shown = now;
    await pause(WATCH_EVERY_MS, interrupt);
    if (interrupt.aborted) return EXIT.interrupted;
  }
}

const HEAD = ['CREATED (UTC)', 'STATUS', 'REQUEST', 'RUNS', 'TOOK', 'ERROR, WAIT, TAGS, QUESTION'];

/** `head`: printed above the rows, if there are any. */
function show(
  { terminal, json }: Invocation,
  requests: readonly ListedRequest[],
  head: readonly string[] | null = null,
): void {
  if (json) for (const request of requests) terminal.out(JSON.stringify(request));
  else if (requests.length > 0)
    terminal.rows([...(head === null ? [] : [head]), ...requests.map((request) => row(request, terminal))]);
}

function row(request: ListedRequest, { paint }: Terminal): string[] {
  const { request_id, status, created_at, closed_at, agent, tools, models, error_types, tags, text } =
    request;
  const { redriven_as: redriven } = request;
  const what = agent ?? [...tools, ...models][0] ?? request.types[0] ?? '-';
  const more = Math.max(0, tools.length + models.length - 1);
  const took = closed_at === null ? '-' : timeText(Date.parse(closed_at) - Date.parse(created_at));
  const notes = [
    ...error_types,
    ...(redriven === undefined ? [] : [`redriven as ${redriven}`]),
    ...request.waiting_for.map((each) => `waits for ${each}`),
  ].join(', ');
  const colour = COLOURS[status];
  return [
    instantText(created_at),
    colour === undefined ? status : paint(colour, status),
    request.tenant === undefined ? request_id : `${request.tenant}~${request_id}`,
    oneLine(agent === null && more > 0 ? `${what} +${more}` : what, LONGEST_TEXT),
    took,
    oneLine(
      [notes, tags.map((tag) => `#${tag}`).join(' '), text].filter(Boolean).join('  '),
      2 * LONGEST_TEXT,
    ),
  ];
}

function sayRest(terminal: Terminal, page: RequestListing): void {
  const { requests, next, searched_until, counts, lag_ms } = page;
  const each = REQUEST_STATUSES.flatMap((status) => {
    const count = counts.status[status];
    return count === 0 ? [] : [`${count} ${status}`];
  });
  const all = `${requests.length} shown; all ${counts.total}: ${each.join(', ')}`;
  terminal.err(terminal.paintErr('dim', counts.total === 0 ? '0 requests' : cut(all, terminal.columns)));
  sayIncomplete(terminal, page);
  if (lag_ms > LATE_MS) terminal.err(terminal.paintErr('yellow', `the list is ${timeText(lag_ms)} behind`));
  if (searched_until !== null)
    terminal.err(`searched back to ${instantText(searched_until)} UTC only; go on with --cursor ${next}`);
  else if (next !== null) terminal.err(`more: --cursor ${next}`);
}

function sayIncomplete(terminal: Terminal, { incomplete }: { incomplete?: boolean | undefined }): void {
  if (incomplete) terminal.err(terminal.paintErr('yellow', INCOMPLETE));
}

const INCOMPLETE =
  'the list is incomplete: it is being built from what Redis holds, and older requests are still missing';

async function cancelRequests(invocation: Invocation, options: BulkOptions): Promise<ExitCode> {
  requireChoice(options);
  sayTimes(invocation, options);
  const { client, terminal, json } = invocation;
  const { reason } = options;
  const result = await client.cancelAll({ ...bodyOf(options), ...(reason === undefined ? {} : { reason }) });
  const rows = result.requests.map(({ request_id, cancelled, requested }) => [
    request_id,
    result.dry_run ? 'would be cancelled' : `${cancelled} cancelled, ${requested} being aborted`,
  ]);
  if (json) terminal.out(JSON.stringify(result));
  else terminal.rows(rows);
  if (!json && rows.length === 0 && !result.more) terminal.err('nothing to cancel');
  if (!json) sayMore(terminal, result);
  return EXIT.done;
}

async function redriveRequests(invocation: Invocation, options: BulkOptions): Promise<ExitCode> {
  requireChoice(options);
  sayTimes(invocation, options);
  const { client, terminal, json } = invocation;
  const result = await client.redriveAll(bodyOf(options));
  if (json) terminal.out(JSON.stringify(result));
  else terminal.rows(redriveRows(result));
  if (!json && result.found.length === 0 && !result.more) terminal.err('nothing to redrive');
  if (!json) sayMore(terminal, result);
  for (const { from, code, detail } of json ? [] : result.refused)
    terminal.err(`not redriven: ${from.request_id}/${from.id}: ${code}: ${oneLine(detail)}`);
  return result.refused.length > 0 ? EXIT.failed : EXIT.done;
}

function redriveRows({ dry_run, found, redriven }: BulkRedrive): string[][] {
  if (dry_run) return found.map(({ request_id, id }) => [`${request_id}/${id}`, 'would be redriven']);
  return redriven.map(({ from, to }) => [`${from.request_id}/${from.id}`, '→', to.id]);
}

function sayMore(
  terminal: Terminal,
  { more, next, incomplete }: Pick<BulkRedrive, 'more' | 'next' | 'incomplete'>,
): void {
  sayIncomplete(terminal, { incomplete });
  if (!more) return;
  terminal.err(`more match: repeat the command${next === null ? '' : ` with --cursor ${next}`}`);
}

/** Throws a usage error, in the words of the command line. */
function requireChoice(options: BulkOptions): void {
  if (options.all === true || Object.keys(filterOf(options)).length > 0) return;
  throw usage('No filter is given.', 'Give one, as in --status open; or --all for every request.');
}

function bodyOf(options: BulkOptions): BulkCancelBody {
  const { all, dryRun, limit, cursor } = options;
  return {
    filter: filterOf(options),
    ...(all ? { all } : {}),
    ...(dryRun ? { dry_run: true } : {}),
    ...(limit === undefined ? {} : { limit }),
    ...(cursor === undefined ? {} : { cursor }),
  };
}

function filterOf(options: FilterOptions): RequestFilter {
  const { errorType: error_type, scoreMin: score_min, scoreMax: score_max, ...named } = options;
  const { status, agent, tool, tag, conversation, since, until, q, score } = named;
  const words = { status, agent, tool, error_type, tag, conversation, since, until, q };
  const given = { ...words, score, score_min, score_max };
  return Object.fromEntries(
    Object.entries(given).filter(([, value]) => value !== undefined),
  ) as RequestFilter;
}
