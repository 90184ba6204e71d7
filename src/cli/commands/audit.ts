/** `adjutant audit`: who has changed what with which key, newest first.
 *  It must never show a key. */
import type { AuditEntry } from '../../contract/access/audit.ts';
import { EXIT, type ExitCode } from '../failure.ts';
import { instantText } from '../table.ts';
import { oneLine } from '../terminal.ts';
import { wholeNumber } from '../options/option-values.ts';
import type { CommandLine, KeyInvocation } from '../invocation.ts';

export interface AuditOptions {
  readonly submissions?: boolean;
  readonly limit?: number;
}

export function addAudit({ program, withKeys }: CommandLine): void {
  program
    .command('audit')
    .description('show the changes that were made with each key, newest first')
    .option(
      '--submissions',
      'who has submitted, started runs, given input or cancelled, instead of all other changes',
    )
    .option('--limit <count>', 'at most this many; default: 100', wholeNumber)
    .action(async (given: AuditOptions) => withKeys(async (invocation) => showAudit(invocation, given)));
}

async function showAudit(
  { keys, terminal, json }: KeyInvocation,
  { submissions = false, limit }: AuditOptions,
): Promise<ExitCode> {
  const { entries } = await keys.audit({ log: submissions ? 'submissions' : 'changes', limit });
  if (json) for (const entry of entries) terminal.out(JSON.stringify(entry));
  else terminal.rows([['AT (UTC)', 'KEY', 'NAME', 'ACTION', 'REQUEST', 'TARGET'], ...entries.map(auditRow)]);
  return EXIT.done;
}

function auditRow({ at, by, action, request_id: request, target }: AuditEntry): string[] {
  return [
    instantText(at),
    by.id,
    oneLine(by.name, 64),
    action,
    oneLine(request ?? '-', 128),
    oneLine(target ?? '-', 128),
  ];
}
