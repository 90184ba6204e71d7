/** `adjutant get --archive`: a request as it was archived.
 *  It must never hold a whole one. */
import type { ArchiveLine } from '../../contract/archive.ts';
import type { Signal } from '../../contract/signal.ts';
import { EXIT, type ExitCode } from '../failure.ts';
import type { ArchiveInvocation } from '../invocation.ts';
import { counted } from '../run-lines.ts';
import { signalLine } from '../signal-line.ts';
import { type Terminal, oneLine } from '../terminal.ts';

export async function getArchived(
  { archive, terminal, json }: ArchiveInvocation,
  requestId: string,
): Promise<ExitCode> {
  for await (const line of archive.lines(requestId)) {
    if (json) terminal.out(JSON.stringify(line));
    else for (const text of textsOf(line, terminal)) terminal.out(text);
  }
  return EXIT.done;
}

function textsOf(line: ArchiveLine, { paint }: Terminal): string[] {
  switch (line.kind) {
    case 'request':
      return [
        `${paint('bold', line.request_id)} closed ${line.closed_at}, ${counted(line.sequence, 'signal')}`,
      ];
    case 'directive': {
      const { id, type, status } = line.directive;
      return [
        `${paint('dim', 'directive')} ${[id, type, status].map((word) => oneLine(String(word), 128)).join(' ')}`,
      ];
    }
    case 'signal':
      return [signalLine(line.signal as unknown as Signal, paint)];
    case 'payload':
      return [`${paint('dim', 'payload of')} ${oneLine(line.directive_id, 128)}: in the output of --json`];
    case 'end':
      return [];
  }
}
