/** The verbs about API keys.
 *  It must never do the work of a verb. */
import type { Command } from 'commander';
import { SCOPES } from '../contract/access.ts';
import { type AuditOptions, showAudit } from './commands/audit.ts';
import { createKey, type KeyInvocation, listKeys, type NewKeyOptions, revokeKey } from './commands/keys.ts';
import type { ExitCode } from './failure.ts';
import { wholeNumber } from './option-values.ts';

export type WithKeys = (verb: (invocation: KeyInvocation) => Promise<ExitCode>) => Promise<void>;

export function addKeyVerbs(program: Command, withKeys: WithKeys): void {
  const keys = program.command('keys').description('API keys: who may use the service, and for what');
  keys
    .command('create <name>')
    .description('make a key and print it, this once; from the first one on every call needs a key')
    .requiredOption(
      '--scopes <scopes...>',
      `what it may do, of ${SCOPES.join(', ')}; separated by spaces or commas`,
    )
    .option('--tenant <name>', 'whose requests it reaches; default: that of the key that makes it')
    .option(
      '--tools <patterns...>',
      'only these tools, as in github.*; no agent and no model that is not named',
    )
    .option(
      '--agents <patterns...>',
      'only these agents, with the tools of their definition; no tool and no model that is not named',
    )
    .option('--models <patterns...>', 'only these models and aliases; no tool and no agent that is not named')
    .option('--per-minute <count>', 'at most so many directives and runs a minute', wholeNumber)
    .option('--per-day <count>', 'at most so many a day, of UTC', wholeNumber)
    .option('--tokens-per-day <count>', 'at most so many tokens of models a day', wholeNumber)
    .option('--money-per-day <millionths>', 'at most so many millionths of a US dollar a day', wholeNumber)
    .option('--expires <when>', 'as in 30d, 12h or an instant; default: never')
    .action(async (name: string, given: NewKeyOptions) =>
      withKeys(async (invocation) => createKey(invocation, name, given)),
    );
  keys
    .command('list')
    .description('show what each may do, and when it was last used')
    .action(async () => withKeys(listKeys));
  keys
    .command('revoke <id>')
    .description('within 2 s no API takes it any more')
    .option('--force', 'also the last one with the scope admin: then only ADJUTANT_ADMIN_KEY makes keys')
    .action(async (id: string, given: { force?: boolean }) =>
      withKeys(async (invocation) => revokeKey(invocation, id, given)),
    );
  addAudit(program, withKeys);
}

function addAudit(program: Command, withKeys: WithKeys): void {
  program
    .command('audit')
    .description('who has changed what with which key, newest first')
    .option(
      '--submissions',
      'who has submitted, started runs, given input or cancelled, instead of all other changes',
    )
    .option('--limit <count>', 'at most this many; default: 100', wholeNumber)
    .action(async (given: AuditOptions) => withKeys(async (invocation) => showAudit(invocation, given)));
}
