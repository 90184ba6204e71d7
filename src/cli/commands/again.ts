/** `adjutant again` and `adjutant fork`: a new request from another one, with changes.
 *  It must never follow the new request: an interrupt would have to mean its end. */
import type { AgainBody, ForkBody, RepeatedRequest } from '../../contract/run/again.ts';
import { ADJUTANT } from '../command-name.ts';
import { EXIT, type ExitCode, usage } from '../failure.ts';
import type { CommandLine, Invocation } from '../invocation.ts';
import { originText } from '../following/run-lines.ts';
import { objectArgument, promptOf, wholeNumber } from '../options/option-values.ts';

interface NewRequest {
  readonly request?: string;
  /** The same key is the same request. */
  readonly key?: string;
  readonly model?: string;
}

interface AgainOptions extends NewRequest {
  readonly query?: string;
  readonly agent?: string;
  readonly tools?: string[];
  readonly overrides?: string;
  readonly arguments?: string;
}

interface ForkOptions extends NewRequest {
  readonly at: number;
  readonly say?: string;
  readonly prompt?: string;
  readonly result?: string[];
  readonly act?: boolean;
  readonly dry?: boolean;
}

export function addAgain({ program, withClient }: CommandLine): void {
  program
    .command('again <request> [directive]')
    .description('run a request again as a new one: its run, or one of its directives; every tool acts again')
    .option('--query <text>', "the run's task instead; - reads it from stdin")
    .option('--agent <name>', 'run another agent')
    .option('--model <provider:model>', 'ask another model')
    .option('--tools <pattern...>', "only these of the agent's tools")
    .option('--overrides <json>', 'further changes to the agent, as in the API')
    .option('--arguments <json>', 'call the tool with these instead')
    .option('--request <id>', 'id of the new request; default: a new one')
    .option('--key <key>', 'idempotency key: the same key is the same request')
    .action(async (request: string, directive: string | undefined, given: AgainOptions) =>
      withClient(async (invocation) => again(invocation, request, directive, given)),
    );
  program
    .command('fork <request>')
    .description(
      'continue a run from one of its turns in a new request; the turns before it are not paid again',
    )
    .requiredOption('--at <turn>', 'the turn whose model call is made anew, from 1', wholeNumber)
    .option('--say <text>', 'a message of the user before the turn; - reads it from stdin')
    .option('--model <provider:model>', 'ask another model')
    .option('--prompt <text>', 'another system prompt; - reads it from stdin')
    .option('--result <call=value...>', 'another result of a call before the turn: a text, or JSON')
    .option('--act', 'call `once` tools without asking a person')
    .option('--dry', 'call no tool: answer from the record, and stop at the first call that has none')
    .option('--request <id>', 'id of the new request; default: a new one')
    .option('--key <key>', 'idempotency key: the same key is the same request')
    .action(async (request: string, given: ForkOptions) =>
      withClient(async (invocation) => fork(invocation, request, given)),
    );
}

async function again(
  invocation: Invocation,
  request: string,
  directive: string | undefined,
  options: AgainOptions,
): Promise<ExitCode> {
  const { query, agent, tools } = options;
  const overrides = {
    ...(options.overrides === undefined ? {} : objectArgument(options.overrides)),
    ...(tools === undefined ? {} : { allowed_tools: tools }),
  };
  const changes: AgainBody = {
    ...newRequestOf(options),
    ...(directive === undefined ? {} : { directive }),
    ...(query === undefined ? {} : { query: await promptOf(query) }),
    ...(agent === undefined ? {} : { agent }),
    ...(Object.keys(overrides).length === 0 ? {} : { overrides }),
    ...(options.arguments === undefined ? {} : { arguments: objectArgument(options.arguments) }),
  };
  return report(invocation, await invocation.client.again(request, changes, keyOf(options)));
}

async function fork(invocation: Invocation, request: string, options: ForkOptions): Promise<ExitCode> {
  const { say, prompt, result = [], act, dry } = options;
  const body: ForkBody = {
    ...newRequestOf(options),
    at: options.at,
    ...(say === undefined ? {} : { say: await promptOf(say) }),
    ...(prompt === undefined ? {} : { system_prompt: await promptOf(prompt) }),
    ...(result.length === 0 ? {} : { results: Object.fromEntries(result.map(resultOf)) }),
    ...(act === true ? { act } : {}),
    ...(dry === true ? { dry } : {}),
  };
  return report(invocation, await invocation.client.fork(request, body, keyOf(options)));
}

function newRequestOf({ request, model }: NewRequest): Pick<AgainBody, 'request_id' | 'model'> {
  return {
    ...(request === undefined ? {} : { request_id: request }),
    ...(model === undefined ? {} : { model }),
  };
}

function keyOf({ key }: NewRequest): { idempotencyKey?: string } {
  return key === undefined ? {} : { idempotencyKey: key };
}

/** A value that is not JSON is a text. */
function resultOf(given: string): [call: string, value: unknown] {
  const at = given.indexOf('=');
  if (at <= 0) throw usage(`'${given}' names no call.`, 'Write it as <call>=<value>, as `tool-1-0=42`.');
  const value = given.slice(at + 1);
  try {
    return [given.slice(0, at), JSON.parse(value)];
  } catch {
    return [given.slice(0, at), value];
  }
}

function report({ terminal, json }: Invocation, repeated: RepeatedRequest): ExitCode {
  const { request_id: requestId, id, origin } = repeated;
  if (json) {
    terminal.out(JSON.stringify(repeated));
    return EXIT.done;
  }
  terminal.out(`accepted ${requestId}${id === undefined ? '' : `/${id}`}, ${originText(origin)}`);
  terminal.err(`follow it: ${ADJUTANT} tail ${requestId}`);
  return EXIT.done;
}
