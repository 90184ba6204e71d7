/** `adjutant audit`: who has changed what with which key, newest first.
 *  It must never show a key. */
import type { AuditEntry } from '../../contract/audit.ts';
import { EXIT, type ExitCode } from '../failure.ts';
import { table } from '../table.ts';
import { oneLine } from '../terminal.ts';
import { instantText } from '../time-text.ts';
import type { KeyInvocation } from './keys.ts';

export interface AuditOptions {
  readonly submissions?: boolean;
  readonly limit?: number;
}

export async function showAudit(
  { keys, terminal, json }: KeyInvocation,
  { submissions = false, limit }: AuditOptions,
): Promise<ExitCode> {
  const { entries } = await keys.audit({ log: submissions ? 'submissions' : 'changes', limit });
  if (json) for (const entry of entries) terminal.out(JSON.stringify(entry));
  else
    for (const line of table([
      ['AT', 'KEY', 'NAME', 'ACTION', 'REQUEST', 'TARGET'],
      ...entries.map(auditRow),
    ]))
      terminal.out(line);
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
