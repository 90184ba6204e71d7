/** The verbs about the list of requests.
 *  It must never do the work of a verb. */
import { type Command, Option } from 'commander';
import { REQUEST_STATUSES } from '../contract/request-listing.ts';
import {
  type BulkOptions,
  cancelRequests,
  type ListOptions,
  listRequests,
  redriveRequests,
} from './commands/requests.ts';
import { reindex } from './commands/reindex.ts';
import { listen, type ListenOptions } from './commands/listen.ts';
import type { WithClient } from './invocation.ts';
import { wholeNumber } from './option-values.ts';
import { pastInstantOption } from './past-instant.ts';

export function addRequestVerbs(program: Command, withClient: WithClient): void {
  const requests = program
    .command('requests')
    .description('list requests, and cancel or redrive many at once');
  filtered(requests.command('list', { isDefault: true }).description('show those that fit, newest first'))
    .option('--limit <count>', 'at most this many; default: 50', wholeNumber)
    .option('--cursor <cursor>', 'go on where a page ended')
    .option('--watch', 'then show each one that is new or changes, until interrupted')
    .action(async (given: ListOptions) => withClient(async (invocation) => listRequests(invocation, given)));
  bulk(requests.command('cancel').description('cancel those that fit and have not ended'))
    .option('--reason <text>', 'shown in the terminal signals')
    .action(async (given: BulkOptions) =>
      withClient(async (invocation) => cancelRequests(invocation, given)),
    );
  bulk(requests.command('redrive').description('execute the dead letters of those that fit again')).action(
    async (given: BulkOptions) => withClient(async (invocation) => redriveRequests(invocation, given)),
  );
  addListen(program, withClient);
  program
    .command('reindex')
    .description('build the list of requests anew; until it is done the list is incomplete')
    .action(async () => withClient(reindex));
}

function addListen(program: Command, withClient: WithClient): void {
  program
    .command('listen')
    .description('pass ends on to a program on this machine, signed as webhooks are, until interrupted')
    .requiredOption('--forward <url>', 'where they are posted, as in http://localhost:3000/hook')
    .option('--request <id>', 'only those of this request, also earlier ones, until it is closed')
    .option('--secret <whsec>', 'signs them; default: a new one, which is printed')
    .action(async (given: ListenOptions) => withClient(async (invocation) => listen(invocation, given)));
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
    .option('--since <when>', 'only created since then: 2h, 7d, noon, yesterday, 14:30, or an instant', when)
    .option('--until <when>', 'only created before then', when)
    .option('--q <words>', 'only with these words in question, names or tags, or at the beginning of the id');
}

/** The command line passes the value before, too. */
function when(text: string): string {
  return pastInstantOption(text);
}
