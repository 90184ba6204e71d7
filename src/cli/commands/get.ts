/** `adjutant get`: the state of a request, of one directive, or of a run that another program leads. */
import type { ArchiveLine } from '../../contract/request/archive.ts';
import type { DirectiveClient } from '../../contract/directive/directive-client.ts';
import { PayloadUnreadable } from '../../contract/encrypted/encrypted.ts';
import { isObject, ownMember } from '../../contract/json/json-object.ts';
import { DirectiveRefused, problem } from '../../contract/problem.ts';
import { redrivenAs } from '../../contract/directive/redriven.ts';
import type {
  DirectiveStatus,
  DirectiveSummary,
  DirectiveView,
  RequestView,
} from '../../contract/request/request-view.ts';
import type { Signal } from '../../contract/signal/signal.ts';
import { ADJUTANT } from '../command-name.ts';
import { mayHaveHappened, REPEATS } from './dead.ts';
import { openConsole } from '../browser.ts';
import { examples } from '../examples.ts';
import {
  counted,
  durationText,
  elapsedMs,
  type EndedDirectives,
  engineAbsence,
  isResumable,
  runLines,
  section,
} from '../following/run-lines.ts';
import { EXIT, type ExitCode, usage } from '../failure.ts';
import type { CommandLine, Invocation } from '../invocation.ts';
import { foreignRunLines, foreignRunOf } from '../following/foreign-run-lines.ts';
import { noticeCells, noticeRows } from '../following/notice-lines.ts';
import { decisionCommands } from '../following/approvals.ts';
import { commandLines, questionLines } from '../following/questions.ts';
import { gistOf, waitText, whyText } from '../following/signal-gist.ts';
import { signalLine } from '../following/signal-lines.ts';
import { table } from '../table.ts';
import { cut, oneLine, shellWord, type Style, type Terminal } from '../terminal.ts';

const MOST_ERRORS = 20;
/** Columns of the indentation below a title. */
const INDENT = 2;
const CANCEL_ASKED = 'a cancellation is asked for';

interface GetOptions {
  readonly archive?: boolean;
  readonly web?: boolean;
}

export function addGet({ program, withClient }: CommandLine): void {
  const verb = program
    .command('get <request> [directive]')
    .description('show the state of a request, of one directive, or of a run that another program leads')
    .option('--archive', 'the request as it was archived when it closed, also after it has expired')
    .option('--web', 'open its page in the console; without a browser the address is printed')
    .action(async (named: string, other: string | undefined, given: GetOptions) => {
      const [request, directive] = namesOf(named, other);
      if (given.archive !== true)
        return withClient(async (invocation) => {
          if (given.web === true) openConsole(invocation.terminal, invocation.baseUrl, request);
          return get(invocation, request, directive);
        });
      if (directive !== undefined)
        throw usage('--archive shows a whole request.', 'Leave the directive out.');
      return withClient(async (invocation) => getArchived(invocation, request));
    });
  examples(verb, ['get refund-1001', 'get refund-1001 --web', 'get refund-1001 --json | jq .run.status']);
}

/** Lists name a directive `<request>/<directive>`; no id has a slash. */
function namesOf(named: string, directive: string | undefined): [string, string | undefined] {
  const slash = directive === undefined ? named.indexOf('/') : -1;
  return slash < 0 ? [named, directive] : [named.slice(0, slash), named.slice(slash + 1)];
}

export async function get(
  invocation: Invocation,
  requestId: string,
  directiveId: string | undefined,
): Promise<ExitCode> {
  const { client, terminal, json } = invocation;
  const view =
    directiveId === undefined
      ? await client.request(requestId)
      : await client.directive(requestId, directiveId);
  if (view === null) {
    const run = directiveId === undefined ? await foreignRunOf(invocation, requestId) : null;
    if (run === null) throw notFound(requestId, directiveId);
    const about = json ? [JSON.stringify(run)] : foreignRunLines(run, terminal.paint);
    for (const line of about) terminal.out(line);
    return run.status === 'failed' ? EXIT.failed : EXIT.done;
  }
  const lines = json
    ? [JSON.stringify(view)]
    : 'directives' in view
      ? [
          ...requestLines(view, terminal, await engineLines(view, client, terminal)),
          ...(await endingLines(view, client, terminal)),
        ]
      : directiveLines(view, terminal);
  for (const line of lines) terminal.out(line);
  return hasFailed(view) ? EXIT.failed : EXIT.done;
}

/** A request with a run fails with it; one without a run never fails as a whole. */
function hasFailed(view: RequestView | DirectiveView): boolean {
  if (!('directives' in view)) return view.status === 'failed';
  return view.run !== undefined && ['failed', 'cancelled', 'timeout'].includes(view.run.status);
}

/** In the words of the service, which answers the other verbs. */
function notFound(requestId: string, directiveId: string | undefined): DirectiveRefused {
  const detail =
    directiveId === undefined
      ? `there is no request "${requestId}", and no run of another program with this name`
      : `request "${requestId}" has no directive "${directiveId}"`;
  return new DirectiveRefused(problem('not_found', { detail }));
}

/** `urgent`: lines above all that is listed. */
function requestLines(view: RequestView, terminal: Terminal, urgent: readonly string[]): string[] {
  const status = view.archived === true ? `${view.status}, archived` : view.status;
  const head = `${terminal.paint('bold', view.request_id)} ${status}, ${view.open} open, ${counted(view.sequence, 'signal')}`;
  const rows = table(view.directives.map((summary) => summaryRow(summary, view.directives, terminal)));
  const directives = rows.map((line) => cut(line, terminal.columns - INDENT));
  const { paint } = terminal;
  const trace = view.trace_url ?? view.trace_id;
  const top = [head, ...(trace === undefined ? [] : [`${paint('dim', 'trace')} ${trace}`]), ...urgent];
  const asked = section('questions', view.directives.flatMap(inputLines), paint);
  const notified = [
    ...section('run again or forked as', view.descendants ?? [], paint),
    ...section('notified', table(noticeRows(view, paint)), paint),
  ];
  if (view.run === undefined) return [...top, ...directives, ...asked, ...notified];
  return [
    ...top,
    ...section('directives', directives, paint),
    ...asked,
    ...runLines(view.run, paint, endedOf(view)),
    ...notified,
  ];
}

function endedOf({ directives }: RequestView): EndedDirectives {
  const ended = directives.filter(({ ended_at: at }) => at !== null);
  return new Map(ended.map(({ id, status }) => [id, status]));
}

/** The whole question of a tool, and the commands that answer. */
function inputLines({ request_id: requestId, inputs = [] }: DirectiveSummary): string[] {
  return inputs.flatMap((input) => [
    `${input.input_id} until ${input.deadline_at}`,
    ...questionLines(input),
    ...commandLines(requestId, input).map((line) => `  ${line}`),
  ]);
}

/** Why directives failed, where no run reports its own error, and what can be typed next. */
async function endingLines(
  view: RequestView,
  client: DirectiveClient,
  { paint }: Terminal,
): Promise<string[]> {
  const failed = view.run === undefined ? view.directives.filter(({ status }) => status === 'failed') : [];
  const read = await Promise.all(
    failed
      .slice(0, MOST_ERRORS)
      .map(async ({ id }) => ({ id, end: await endIn(client, view.request_id, id) })),
  );
  const ends = read.flatMap(({ id, end }) => (end && 'result' in end ? [{ id, result: end.result }] : []));
  const errors = read.flatMap(({ id, end }) =>
    end === null ? [] : [[id, 'result' in end ? gistOf(end.result, paint) : end.unread]],
  );
  const more = failed.length - MOST_ERRORS;
  return [
    ...section('errors', table(errors), paint),
    ...(more > 0 ? [`  and ${more} more: ${ADJUTANT} get ${view.request_id} <directive>`] : []),
    ...section('next', nextCommands(view, ends), paint),
  ];
}

/** How a directive ended, or why that cannot be read with the key that is here; null: it has not. */
async function endIn(client: DirectiveClient, requestId: string, id: string) {
  try {
    const result = (await client.directive(requestId, id))?.result ?? null;
    return result && { result };
  } catch (error) {
    if (error instanceof PayloadUnreadable) return { unread: error.message };
    throw error;
  }
}

/** Reason why a run does not progress without an engine, and that its end is requested. */
async function engineLines(
  { run }: RequestView,
  client: DirectiveClient,
  { paint }: Terminal,
): Promise<string[]> {
  const absence = await engineAbsence(run, client);
  const asked = absence === null ? CANCEL_ASKED : `${CANCEL_ASKED}; the run ends when an engine works`;
  return [
    ...(run?.cancel_requested === true ? [paint('yellow', asked)] : []),
    ...(absence === null ? [] : [paint('yellow', waitText(absence))]),
  ];
}

function summaryRow(
  summary: DirectiveSummary,
  all: readonly DirectiveSummary[],
  { paint }: Terminal,
): string[] {
  const { id, type, status, lane, attempts, started_at: from, ended_at: to, waiting } = summary;
  const durationMs = elapsedMs(from, to);
  const duration = durationMs === null ? '' : `, ${durationText(durationMs)}`;
  const waits = waiting === undefined ? againText(summary.next_attempt_at) : `, ${waitText(waiting)}`;
  const state = paint(ownMember(STYLES, status) ?? 'dim', status);
  const next = redrivenAs(id, all);
  const redriven = next === null ? '' : `, redriven as ${next}`;
  return [id, type, state, lane ?? '-', `${counted(attempts, 'attempt')}${duration}${waits}${redriven}`];
}

/** Time of a retry; its reason is in the log. */
function againText(at: string | null): string {
  return at === null ? '' : `, again at ${at}`;
}

function directiveLines(view: DirectiveView, terminal: Terminal): string[] {
  const { directive, result, waiting, limits, inputs: _inputs, notices = [], ...members } = view;
  const waits = waiting === undefined ? {} : { waiting: whyText(waiting) };
  const under = limits === undefined ? {} : { limits: limits.map((limit) => oneLine(limit, 200)).join('; ') };
  const rows = Object.entries({ ...members, ...under, ...waits }).map(([name, value]) => [
    // A directive that failed in its only attempt has none.
    terminal.paint('dim', name === 'failures' ? 'retries' : name),
    String(value ?? '-'),
  ]);
  const asked = section('questions', inputLines(view), terminal.paint);
  const notified = table(notices.map((notice) => noticeCells(notice, terminal.paint)));
  const lines = [
    ...table(rows),
    ...asked,
    ...section('notified', notified, terminal.paint),
    terminal.paint('dim', 'directive'),
    JSON.stringify(directive, null, 2),
  ];
  return result === null
    ? lines
    : [...lines, terminal.paint('dim', 'result'), signalLine(result, terminal.paint)];
}

const STYLES: Readonly<Record<DirectiveStatus, Style>> = {
  accepted: 'dim',
  running: 'cyan',
  waiting: 'yellow',
  succeeded: 'green',
  failed: 'red',
};

async function getArchived({ archive, terminal, json }: Invocation, requestId: string): Promise<ExitCode> {
  for await (const line of archive.lines(requestId)) {
    if (json) terminal.out(JSON.stringify(line));
    else for (const text of textsOf(line, terminal)) terminal.out(text);
  }
  return EXIT.done;
}

function textsOf(line: ArchiveLine, { paint }: Terminal): string[] {
  switch (line.kind) {
    case 'request':
      return [
        `${paint('bold', line.request_id)} closed ${line.closed_at}, ${counted(line.sequence, 'signal')}`,
      ];
    case 'directive': {
      const { id, type, status } = line.directive;
      return [
        `${paint('dim', 'directive')} ${[id, type, status].map((word) => oneLine(String(word), 128)).join(' ')}`,
      ];
    }
    case 'signal':
      return [signalLine(line.signal as unknown as Signal, paint)];
    case 'payload':
      return [`${paint('dim', 'payload of')} ${oneLine(line.directive_id, 128)}: in the output of --json`];
    case 'end':
      return [];
  }
}

const MOST_COMMANDS = 6;

interface Ended {
  readonly id: string;
  readonly result: { readonly data: object };
}

/** `failed`: the ends of directives that failed. Questions of tools come with their own commands. */
export function nextCommands(
  { request_id, run, directives, archived }: RequestView,
  failed: readonly Ended[],
): string[] {
  if (archived === true) return againCommands(request_id, run, failed);
  const decisions = (run?.waiting_for ?? []).flatMap(({ kind, id }) =>
    kind === 'approval' || kind === 'budget' ? decisionCommands(request_id, id) : [],
  );
  // A redrive of its steps would only repeat a call: the run would not go on.
  if (run !== undefined && isResumable(run))
    return [...decisions, `${ADJUTANT} resume ${request_id}`].slice(0, MOST_COMMANDS);
  const redrives = failed
    .filter((each) => isDeadLetter(each, directives))
    .map(({ id, result }) => {
      const remark = mayHaveHappened(result.data) ? `  # ${REPEATS}` : '';
      return `${ADJUTANT} dead redrive ${request_id}/${shellWord(id)}${remark}`;
    });
  return [...decisions, ...redrives].slice(0, MOST_COMMANDS);
}

/** Redis no longer holds a run to resume, nor a directive to redrive. */
function againCommands(requestId: string, run: RequestView['run'], failed: readonly Ended[]): string[] {
  const again = `${ADJUTANT} again ${requestId}`;
  if (run !== undefined) return isResumable(run) ? [again] : [];
  return failed.slice(0, MOST_COMMANDS).map(({ id }) => `${again} ${shellWord(id)}`);
}

/** Attempted directives that ended in an error no caller asked for. */
function isDeadLetter({ id, result }: Ended, all: readonly DirectiveSummary[]): boolean {
  const attempts = all.find((each) => each.id === id)?.attempts ?? 0;
  const ended = (result.data as { result?: unknown }).result;
  const error = isObject(ended) ? ended['error'] : null;
  const isCancelled = !isObject(error) || error['type'] === 'cancelled';
  return attempts > 0 && !isCancelled && redrivenAs(id, all) === null;
}
