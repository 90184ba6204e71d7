/** `adjutant resume`: continues a run that has failed, was cancelled or reached a limit.
 *  It must never repeat a call that may have acted unless its user says so. */
import { InvalidArgumentError } from 'commander';
import { DirectiveRefused } from '../../contract/problem.ts';
import type { ResumeRunBody, UnknownDecision } from '../../contract/run/run.ts';
import { ADJUTANT } from '../command-name.ts';
import { EXIT, type ExitCode } from '../failure.ts';
import type { CommandLine, Invocation } from '../invocation.ts';
import { promptOf } from '../options/option-values.ts';
import { oneLine } from '../terminal.ts';

interface ResumeOptions {
  readonly model?: string;
  readonly maxIterations?: number;
  readonly say?: string;
  readonly key?: string;
  readonly repeat?: readonly string[];
  readonly skip?: readonly string[];
  readonly done?: readonly string[];
}

export function addResume({ program, withClient }: CommandLine): void {
  program
    .command('resume <request>')
    .description('continue a run that has failed, was cancelled or reached a limit, from the failed step')
    .option('--model <model>', 'another model or alias from here on')
    .option('--max-iterations <n>', 'limit of model calls, counted from the start of the run', counted)
    .option('--say <text>', 'the run reads it before its next model call')
    .option('--key <key>', 'the same key is the same resume')
    .option('--repeat <call>', 'make this call of unknown outcome again; it may act twice', gathered)
    .option('--skip <call>', 'go on without this call of unknown outcome', gathered)
    .option('--done <call=json>', 'count this call of unknown outcome as done, with this result', gathered)
    .action(async (request: string, given: ResumeOptions) =>
      withClient(async (invocation) => resume(invocation, request, given)),
    );
}

function counted(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1)
    throw new InvalidArgumentError('It must be an integer from 1 on.');
  return value;
}

function gathered(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

async function resume(
  { client, terminal, json }: Invocation,
  requestId: string,
  options: ResumeOptions,
): Promise<ExitCode> {
  const body = await bodyOf(options);
  const keyed = options.key === undefined ? {} : { idempotencyKey: options.key };
  const resumed = await client.runs.resume(requestId, body, keyed).catch((error: unknown) => {
    throw explained(error, requestId);
  });
  const times = resumed.resumed === 1 ? '' : `, for the ${resumed.resumed}. time`;
  const text = `${resumed.request_id}  resumed${times}\nnext: ${ADJUTANT} tail ${resumed.request_id}`;
  terminal.out(json ? JSON.stringify(resumed) : text);
  return EXIT.done;
}

async function bodyOf({ model, maxIterations, say, ...given }: ResumeOptions): Promise<ResumeRunBody> {
  const named = model === undefined ? {} : model.includes(':') ? { model } : { model_alias: model };
  const limits = maxIterations === undefined ? {} : { limits: { max_iterations: maxIterations } };
  return {
    overrides: { ...named, ...limits },
    decisions: decisionsOf(given),
    ...(say === undefined ? {} : { input: await promptOf(say) }),
  };
}

function decisionsOf({ repeat = [], skip = [], done = [] }: ResumeOptions): Record<string, UnknownDecision> {
  return Object.fromEntries([
    ...repeat.map((call) => [call, { action: 'repeat' }] as const),
    ...skip.map((call) => [call, { action: 'skip' }] as const),
    ...done.map(doneOf),
  ]);
}

/** A call without a value has the result null; what is no JSON is a text. */
function doneOf(text: string): readonly [string, UnknownDecision] {
  const at = text.indexOf('=');
  if (at < 0) return [text, { action: 'done', result: null }];
  const value = text.slice(at + 1);
  return [text.slice(0, at), { action: 'done', result: jsonOr(value) }];
}

function jsonOr(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

/** The refusal with the command that decides. */
function explained(error: unknown, requestId: string): unknown {
  if (!(error instanceof DirectiveRefused) || error.problem.code !== 'outcome_unknown') return error;
  const calls = error.problem['calls'];
  const [first] = Array.isArray(calls) ? (calls as { id?: string }[]) : [];
  const id = oneLine(first?.id ?? '', 128);
  const ways = `${ADJUTANT} resume ${requestId} with --repeat ${id}, --skip ${id} or --done '${id}=<result>'`;
  return new DirectiveRefused({ ...error.problem, detail: `${error.problem.detail ?? ''}; run ${ways}` });
}
