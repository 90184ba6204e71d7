/** `adjutant trace`: draws what a request did and when, from the journal alone.
 *  It must never wait for the end of anything. */
import type { ForeignRunView } from '../../contract/run/foreign-run.ts';
import { EXIT, type ExitCode } from '../failure.ts';
import type { CommandLine, Invocation } from '../invocation.ts';
import { foreignRunLines, foreignRunOf } from '../following/foreign-run-lines.ts';
import { isNotFound, orNull, traceFamily, tracesOf } from '../trace/trace-family.ts';
import { traceLines } from '../trace/trace-lines.ts';
import type { TraceFamily } from '../trace/trace-tree.ts';
import { wholeNumber } from '../options/option-values.ts';

interface TraceOptions {
  /** The most directives of each request. Default: as the service gives. */
  readonly limit?: number;
}

const MOST_LINES = 2_000;
/** Calls of a run that are drawn. */
const MOST_CALLS = 50;

export function addTrace({ program, withClient }: CommandLine): void {
  program
    .command('trace <request>')
    .description(
      'draw the course of a request, or of a run that another program leads: attempts, waits, turns, children',
    )
    .option('--limit <count>', 'at most this many directives of each request, up to 1000', wholeNumber)
    .action(async (request: string, given: TraceOptions) =>
      withClient(async (invocation) => trace(invocation, request, given)),
    );
}

async function trace(invocation: Invocation, requestId: string, { limit }: TraceOptions): Promise<ExitCode> {
  const { terminal, json } = invocation;
  const { run, families } = await tracedAs(invocation, requestId, limit);
  if (run !== null && !json) for (const line of foreignRunLines(run, terminal.paint)) terminal.out(line);
  const drawing = { paint: terminal.paint, mostLines: MOST_LINES };
  for (const each of families) {
    const lines = json ? tracesOf(each).map((of) => JSON.stringify(of)) : traceLines(each, drawing);
    for (const line of lines) terminal.out(line);
  }
  return EXIT.done;
}

/** `run` null: it is a request. */
async function tracedAs(
  invocation: Invocation,
  requestId: string,
  limit: number | undefined,
): Promise<{ run: ForeignRunView | null; families: TraceFamily[] }> {
  const { client } = invocation;
  try {
    return { run: null, families: [await traceFamily(client, requestId, { directives: limit })] };
  } catch (error) {
    if (!isNotFound(error)) throw error;
    const run = await foreignRunOf(invocation, requestId);
    if (run === null) throw error;
    return { run, families: await callsOf(run, client) };
  }
}

/** The latest turns of a run, each before the tool calls that it asked for, as far as they are kept. */
async function callsOf(
  { latest_turns: latest = [], request_prefix: prefix }: ForeignRunView,
  client: Invocation['client'],
): Promise<TraceFamily[]> {
  const ids = latest
    .toReversed()
    .flatMap(({ turn, request_id: id, tool_calls: calls }) => [
      id,
      ...Array.from({ length: calls }, (_, at) => `${prefix}.t${turn}.c${at}`),
    ]);
  const families: TraceFamily[] = [];
  for (const id of ids.slice(-MOST_CALLS)) {
    // oxlint-disable-next-line no-await-in-loop
    const family = await orNull(traceFamily(client, id));
    if (family !== null) families.push(family);
  }
  return families;
}
