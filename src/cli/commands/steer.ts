/** `adjutant input`, `approve` and `deny`: sends input and decisions to a run under way.
 *  It must never send anything twice. */
import { closeNames } from '../../platform/bounds/close-names.ts';
import { DirectiveRefused, problem } from '../../contract/problem.ts';
import type { ApprovalDecisionBody } from '../../contract/run/run.ts';
import { ADJUTANT } from '../command-name.ts';
import { type EncryptOption, encryptingWhere, WITH_KEY } from '../options/submission-options.ts';
import { EXIT, type ExitCode } from '../failure.ts';
import type { CommandLine, Invocation } from '../invocation.ts';
import { objectArgument, promptOf } from '../options/option-values.ts';
import { oneLine } from '../terminal.ts';
import { who } from './answer.ts';

interface InputOptions extends EncryptOption {
  readonly id?: string;
}

interface DecisionOptions extends EncryptOption {
  readonly reason?: string;
  /** JSON that replaces the arguments of the model. */
  readonly arguments?: string;
  /** Default: the user of this process. */
  readonly by?: string;
}

export function addSteering({ program, withClient }: CommandLine): void {
  program
    .command('input <request> <text>')
    .description('send input to a run under way; the run reads it before its next model call')
    .option('--id <id>', 'the same id is the same input; default: a new one')
    .option('--encrypt', `encrypt the text ${WITH_KEY}`)
    .action(async (request: string, text: string, given: InputOptions) =>
      withClient(async (invocation) => input(invocation, request, text, given)),
    );
  program
    .command('approve <request> <call>')
    .description('approve a waiting tool call')
    .option('--reason <text>', 'kept with the decision')
    .option('--arguments <json>', 'call it with these instead')
    .option('--by <name>', 'who decides; default: the user of this process')
    .option('--encrypt', `encrypt arguments and reason ${WITH_KEY}`)
    .action(async (requestId: string, callId: string, given: DecisionOptions) =>
      withClient(async (invocation) => decide(invocation, { requestId, callId }, 'approve', given)),
    );
  program
    .command('deny <request> <call>')
    .description('deny a waiting tool call; the model reads the reason')
    .option('--reason <text>', 'shown to the model')
    .option('--by <name>', 'who decides; default: the user of this process')
    .option('--encrypt', `encrypt the reason ${WITH_KEY}`)
    .action(async (requestId: string, callId: string, given: DecisionOptions) =>
      withClient(async (invocation) => decide(invocation, { requestId, callId }, 'deny', given)),
    );
}

async function input(
  given: Invocation,
  requestId: string,
  content: string,
  options: InputOptions,
): Promise<ExitCode> {
  const { client, terminal, json } = encryptingWhere(given, options);
  const { id } = options;
  const named = id === undefined ? {} : { input_id: id };
  const accepted = await client.runs.input(requestId, { content: await promptOf(content), ...named });
  const waits = accepted.queued === 1 ? 'it is the next' : `${accepted.queued} wait, this one included`;
  terminal.out(json ? JSON.stringify(accepted) : `${accepted.input_id}  ${waits}`);
  return EXIT.done;
}

async function decide(
  given: Invocation,
  { requestId, callId }: { readonly requestId: string; readonly callId: string },
  decision: ApprovalDecisionBody['decision'],
  options: DecisionOptions,
): Promise<ExitCode> {
  const { client, terminal, json } = encryptingWhere(given, options);
  const body: ApprovalDecisionBody = {
    decision,
    ...(options.reason === undefined ? {} : { reason: options.reason }),
    ...(options.arguments === undefined ? {} : { arguments: objectArgument(options.arguments) }),
    ...who(options.by),
  };
  const recorded = await client.runs.decide(requestId, callId, body).catch(async (error: unknown) => {
    throw await explained(error, { client, requestId, callId });
  });
  const outcome = recorded.decision === 'approve' ? 'approved' : 'denied';
  terminal.out(json ? JSON.stringify(recorded) : `${recorded.call_id}  ${outcome}`);
  return EXIT.done;
}

interface Asked extends Pick<Invocation, 'client'> {
  readonly requestId: string;
  readonly callId: string;
}

/** Adds the calls that wait for a decision to the error of one that does not. Other errors pass unchanged. */
async function explained(error: unknown, { client, requestId, callId }: Asked): Promise<unknown> {
  if (!(error instanceof DirectiveRefused) || error.problem.code !== 'not_found') return error;
  const view = await client.request(requestId).catch(() => null);
  if (view?.run === undefined) return error;
  const waiting = view.run.waiting_for.flatMap(({ kind, id }) =>
    kind === 'approval' || kind === 'budget' ? [id] : [],
  );
  const close = closeNames(callId, waiting);
  const question = close.length === 0 ? '' : `did you mean ${oneLine(close.join(' or '), 300)}? `;
  const list =
    waiting.length === 0
      ? `nothing of it waits for one; \`${ADJUTANT} get ${requestId}\` shows what it does`
      : `these wait for one: ${oneLine(waiting.join(', '), 500)}`;
  const detail = `"${oneLine(callId, 128)}" of request "${requestId}" waits for no decision: ${question}${list}`;
  return new DirectiveRefused(problem('not_found', { detail }));
}
