/** The verbs that submit directives and show their state.
 *  It must never do the work of a verb. */
import { type Command, Option } from 'commander';
import { type AnswerOptions, answerQuestion } from './commands/answer.ts';
import { budgets } from './commands/budgets.ts';
import { call, type CallOptions } from './commands/call.ts';
import { type ArchiveInvocation, getArchived } from './commands/archived.ts';
import { cancel, type CancelOptions } from './commands/cancel.ts';
import { type DeadOptions, listDead, redriveDead } from './commands/dead.ts';
import { get } from './commands/get.ts';
import { prioritize } from './commands/prioritize.ts';
import { payload } from './commands/payload.ts';
import { agents, lanes, tools } from './commands/listings.ts';
import { submit, type SubmitOptions } from './commands/submit.ts';
import { tail, type TailOptions } from './commands/tail.ts';
import { trace, type TraceOptions } from './commands/trace.ts';
import { drainWorker, workers } from './commands/workers.ts';
import { closeNames } from '../bounds/close-names.ts';
import { type ExitCode, usage } from './failure.ts';
import type { WithClient } from './invocation.ts';
import { addEndOption } from './end-options.ts';
import { addFlowOptions, priority } from './flow-options.ts';
import { addLaterOptions } from './later-options.ts';
import { addOnceOptions } from './once-options.ts';
import { wholeNumber } from './option-values.ts';
import { oneLine } from './terminal.ts';

export type WithArchive = (verb: (invocation: ArchiveInvocation) => Promise<ExitCode>) => Promise<void>;

export function addDirectiveVerbs(program: Command, withClient: WithClient, withArchive: WithArchive): void {
  callCommand(program).action(async (tool: string, json: string | undefined, given: CallOptions) =>
    withClient(async (invocation) => call(invocation, tool, json, given)),
  );
  program
    .command('submit <file>')
    .description('submit directives from a file, or - for stdin: JSON, or one directive a line')
    .option('--idempotency-key <key>', 'names the submission: the same key is the same submission')
    .action(async (file: string, given: SubmitOptions) =>
      withClient(async (invocation) => submit(invocation, file, given)),
    );
  program
    .command('tail <request>')
    .description('print the signals of a request, until it is closed')
    .option('--after <sequence>', 'only later ones', wholeNumber)
    .action(async (request: string, given: TailOptions) =>
      withClient(async (invocation) => tail(invocation, request, given)),
    );
  program
    .command('get <request> [directive]')
    .description('show the state of a request, or of one directive')
    .option('--archive', 'the request as it was archived when it closed, also after it has expired')
    .action(async (request: string, directive: string | undefined, given: { archive?: boolean }) => {
      if (given.archive !== true)
        return withClient(async (invocation) => get(invocation, request, directive));
      if (directive !== undefined)
        throw usage('--archive shows a whole request.', 'Leave the directive out.');
      return withArchive(async (invocation) => getArchived(invocation, request));
    });
  addTrace(program, withClient);
  addChanges(program, withClient);
  addDeadVerbs(program, withClient);
  addListings(program, withClient);
  addWorkerVerbs(program, withClient);
}

function addChanges(program: Command, withClient: WithClient): void {
  program
    .command('cancel <request> [directive]')
    .description('cancel one directive, or all of a request')
    .option('--reason <text>', 'shown in the terminal signal')
    .action(async (request: string, directive: string | undefined, given: CancelOptions) =>
      withClient(async (invocation) => cancel(invocation, request, directive, given)),
    );
  program
    .command('prioritize <request> <directive>')
    .argument('<0-9>', 'its new priority', priority)
    .description('change the priority of a directive that waits for its turn')
    .action(async (request: string, directive: string, level: number) =>
      withClient(async (invocation) => prioritize(invocation, request, directive, level)),
    );
  program
    .command('answer <request> <input> [json]')
    .description('answer a question that a tool asks')
    .option('--decline', 'refuse to answer')
    .option('--cancel', 'leave the question without a choice')
    .option('--by <name>', 'who answers; default: the user of this process')
    .action(async (requestId: string, inputId: string, json: string | undefined, given: AnswerOptions) =>
      withClient(async (invocation) => answerQuestion(invocation, { requestId, inputId }, json, given)),
    );
}

function addTrace(program: Command, withClient: WithClient): void {
  program
    .command('trace <request>')
    .description('draw what a request did and when: attempts, waits, turns, children')
    .option('--limit <count>', 'at most this many directives of each request, up to 1000', wholeNumber)
    .action(async (request: string, given: TraceOptions) =>
      withClient(async (invocation) => trace(invocation, request, given)),
    );
}

function addListings(program: Command, withClient: WithClient): void {
  program
    .command('payload <request> <directive>')
    .description('print the whole answer of a directive whose signal holds only the beginning')
    .action(async (request: string, directive: string) =>
      withClient(async (invocation) => payload(invocation, request, directive)),
    );
  program
    .command('tools [server]')
    .description('list the tools of every MCP server, or of one')
    .action(async (server?: string) => withClient(async (invocation) => tools(invocation, server)));
  program
    .command('agents')
    .description('list the agents that runs can use')
    .action(async () => withClient(agents));
  program
    .command('lanes')
    .description('list the lanes and how busy they are')
    .action(async () => withClient(lanes));
  program
    .command('budgets')
    .description('show what models have used today, and what is left')
    .action(async () => withClient(budgets));
}

function addWorkerVerbs(program: Command, withClient: WithClient): void {
  const verbs = program.command('workers').description('the processes of the service');
  verbs
    .command('list', { isDefault: true })
    .description('show who is there, what each serves, and how busy it is')
    .allowExcessArguments()
    .hook('preAction', (_, { args }) => refuseOperands(verbs, args))
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

function addDeadVerbs(program: Command, withClient: WithClient): void {
  const dead = program.command('dead').description('directives that ended in an error');
  const list = dead.command('list', { isDefault: true }).description('show them, oldest first');
  list.allowExcessArguments().hook('preAction', (_, { args }) => refuseOperands(dead, args));
  filtered(list).action(async (given: DeadOptions) =>
    withClient(async (invocation) => listDead(invocation, given)),
  );
  filtered(
    dead
      .command('redrive [names...]')
      .description('execute them again, by <request>/<directive> names or all that match')
      .option('--all', 'every dead letter')
      .option('--dry-run', 'name them, at most 1000, and do nothing'),
  ).action(async (names: string[], given: DeadOptions) =>
    withClient(async (invocation) => redriveDead(invocation, names, given)),
  );
}

/** A mistyped verb comes to the default one as what it shall list. */
function refuseOperands(group: Command, [asked]: readonly string[]): void {
  if (asked === undefined) return;
  const verbs = group.commands.map((each) => each.name());
  const close = closeNames(asked, verbs);
  const question = close.length === 0 ? '' : `Did you mean ${close.join(' or ')}? `;
  const what = `\`${group.name()}\` has no verb "${oneLine(asked, 80)}".`;
  throw usage(what, `${question}There are ${verbs.join(', ')}.`);
}

function filtered(command: Command): Command {
  return command
    .option('--lane <lane>', 'only of this lane')
    .option('--error-type <type>', 'only with this type of error')
    .option('--limit <count>', 'at most this many', wholeNumber);
}

function callCommand(program: Command): Command {
  const command = program
    .command('call <tool> [json]')
    .description('call a tool (server.tool) with a JSON object, and print its answer')
    .option(
      '--timeout-ms <ms>',
      'limit of one attempt; default: 30000, or as the lane is configured',
      wholeNumber,
    )
    .option('--deadline-ms <ms>', 'limit of everything; default: 900000', wholeNumber)
    .option('--max-retries <n>', 'attempts after a failed first one; default: 0', wholeNumber)
    .option('--retry-backoff-ms <ms>', 'wait before a retry; default: 0', wholeNumber)
    .addOption(
      new Option('--backoff <kind>', 'how the wait grows; default: fixed').choices(['fixed', 'exponential']),
    )
    .addOption(
      new Option(
        '--effect <effect>',
        'whether it may be repeated when its worker dies; default: as the tool declares',
      ).choices(['read', 'idempotent', 'once']),
    )
    .option('--server <name>', 'the MCP server, when the tool name has none')
    .option('--request <id>', 'the request it belongs to; default: a new one')
    .option('--id <id>', 'its id; default: a new one')
    .option('--encrypt', 'encrypt the arguments with the first key of ADJUTANT_ENCRYPTION_KEYS');
  return addEndOption(addOnceOptions(addFlowOptions(addLaterOptions(command))));
}
