/** `adjutant input`, `approve` and `deny`: sends input and decisions to a run under way.
 *  It must never send anything twice. */
import { closeNames } from '../../platform/bounds/close-names.ts';
import { DirectiveRefused, problem } from '../../contract/problem.ts';
import type { ApprovalListing, OpenApproval } from '../../contract/run/approval-listing.ts';
import { type BulkDecision, MOST_DECIDED } from '../../contract/run/bulk-decision.ts';
import type { ApprovalDecisionBody } from '../../contract/run/run.ts';
import { toolMatches } from '../../contract/tool/tool-pattern.ts';
import { ADJUTANT } from '../command-name.ts';
import { type EncryptOption, encryptingWhere, WITH_KEY } from '../options/submission-options.ts';
import { examples } from '../examples.ts';
import { EXIT, type ExitCode, usage } from '../failure.ts';
import type { CommandLine, Invocation } from '../invocation.ts';
import { objectArgument, OF_TENANT, promptOf } from '../options/option-values.ts';
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
  readonly all?: boolean;
  readonly agent?: string;
  readonly tool?: string;
  readonly dryRun?: boolean;
  readonly tenant?: string;
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
  const approve = program
    .command('approve [request] [call]')
    .description('approve a waiting tool call')
    .option('--all', 'decide about every call that waits, of the request where one is given')
    .option('--agent <name>', 'with --all: only calls of runs of this agent')
    .option('--tool <pattern>', 'with --all: only calls of these tools; * matches any characters')
    .option('--dry-run', 'with --all: show what would be decided about, and decide nothing')
    .option('--tenant <name>', `with --dry-run: ${OF_TENANT}`)
    .option('--reason <text>', 'kept with the decision')
    .option('--arguments <json>', 'call it with these instead')
    .option('--by <name>', 'who decides; default: the user of this process')
    .option('--encrypt', `encrypt arguments and reason ${WITH_KEY}`)
    .action(async (requestId: string | undefined, callId: string | undefined, given: DecisionOptions) =>
      withClient(async (invocation) => decideWhich(invocation, { requestId, callId }, 'approve', given)),
    );
  examples(approve, ['approve refund-1001 call_1', 'approve --all --tool shop.refund --dry-run']);
  program
    .command('deny [request] [call]')
    .description('deny a waiting tool call; the model reads the reason')
    .option('--all', 'decide about every call that waits, of the request where one is given')
    .option('--agent <name>', 'with --all: only calls of runs of this agent')
    .option('--tool <pattern>', 'with --all: only calls of these tools; * matches any characters')
    .option('--dry-run', 'with --all: show what would be decided about, and decide nothing')
    .option('--tenant <name>', `with --dry-run: ${OF_TENANT}`)
    .option('--reason <text>', 'shown to the model')
    .option('--by <name>', 'who decides; default: the user of this process')
    .option('--encrypt', `encrypt the reason ${WITH_KEY}`)
    .action(async (requestId: string | undefined, callId: string | undefined, given: DecisionOptions) =>
      withClient(async (invocation) => decideWhich(invocation, { requestId, callId }, 'deny', given)),
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

interface Which {
  readonly requestId: string | undefined;
  readonly callId: string | undefined;
}

async function decideWhich(
  given: Invocation,
  { requestId, callId }: Which,
  decision: ApprovalDecisionBody['decision'],
  options: DecisionOptions,
): Promise<ExitCode> {
  const { all = false, agent, tool, dryRun, tenant, arguments: edited } = options;
  if (tenant !== undefined && !(all && dryRun === true))
    throw usage('--tenant belongs to --all --dry-run.', 'Decide with a key of that tenant.');
  if (all) {
    if (callId !== undefined || edited !== undefined)
      throw usage('--all decides about calls as they are.', 'Leave out the call and --arguments.');
    return decideAll(given, requestId, decision, options);
  }
  if (requestId === undefined || callId === undefined)
    throw usage('Name a request and a call.', `Or decide about all that wait: ${ADJUTANT} ${decision} --all`);
  if (agent !== undefined || tool !== undefined || dryRun === true)
    throw usage('--agent, --tool and --dry-run belong to --all.', 'Add --all, or leave them out.');
  return decide(given, { requestId, callId }, decision, options);
}

/** Decides about what the list shows now, page by page: what begins to wait meanwhile is not decided about unseen. */
async function decideAll(
  given: Invocation,
  requestId: string | undefined,
  decision: ApprovalDecisionBody['decision'],
  options: DecisionOptions,
): Promise<ExitCode> {
  const { client, terminal, json } = encryptingWhere(given, options);
  const waiting = await waitingCalls(client, requestId, options);
  const what = decision === 'approve' ? 'approved' : 'denied';
  const chosen = new Map(waiting.map((each) => [`${each.request_id}/${each.call_id}`, each]));
  const line = (id: string, outcome: string): string => {
    const { tool = '', arguments: args = '' } = chosen.get(id) ?? {};
    return oneLine(`${id}  ${tool}  ${args ?? ''}  ${outcome}`, LONGEST_LINE);
  };
  if (options.dryRun === true) {
    const shown = waiting.map(({ tenant, request_id, call_id }) => {
      const whose = tenant === undefined ? '' : `${tenant}~`;
      return `${whose}${line(`${request_id}/${call_id}`, `would be ${what}`)}`;
    });
    if (json) for (const each of waiting) terminal.out(JSON.stringify(each));
    else terminal.out(shown.join('\n') || 'nothing waits for a decision');
    return EXIT.done;
  }
  const { reason, by } = options;
  const said = { decision, ...(reason === undefined ? {} : { reason }), ...who(by) };
  const all: BulkDecision = { decided: [], refused: [] };
  for (let at = 0; at < waiting.length; at += MOST_DECIDED) {
    const page = waiting.slice(at, at + MOST_DECIDED);
    const calls = page.map(({ request_id, call_id }) => ({ request_id, call_id }));
    const { decided, refused } = await client.runs.decideAll({ ...said, calls });
    all.decided.push(...decided);
    all.refused.push(...refused);
  }
  const lines = [
    ...all.decided.map(({ request_id, call_id }) => line(`${request_id}/${call_id}`, what)),
    ...all.refused.map(({ request_id, call_id, detail }) =>
      line(`${request_id}/${call_id}`, `not ${what}: ${detail}`),
    ),
  ];
  terminal.out(json ? JSON.stringify(all) : lines.join('\n') || 'nothing waits for a decision');
  return all.refused.length === 0 ? EXIT.done : EXIT.failed;
}

const LONGEST_LINE = 1_000;

/** Questions of tools are none: they need an answer, not a decision. */
async function waitingCalls(
  client: Pick<Invocation['client'], 'approvals'>,
  requestId: string | undefined,
  { agent, tool, tenant }: DecisionOptions,
): Promise<OpenApproval[]> {
  const found: OpenApproval[] = [];
  let cursor: string | null = null;
  do {
    const page: ApprovalListing = await client.approvals({ cursor: cursor ?? undefined, tenant });
    found.push(...page.approvals);
    cursor = page.next;
  } while (cursor !== null);
  return found.filter(
    (ask) =>
      ask.kind !== 'question' &&
      (requestId === undefined || ask.request_id === requestId) &&
      (agent === undefined || ask.agent === agent) &&
      (tool === undefined || toolMatches(tool, ask.tool)),
  );
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
