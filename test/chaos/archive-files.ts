/** Reads what the processes have archived: the files of the folder, as other programs read them.
 *  It must never share code with what wrote them. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { ArchivedObject } from './archive-rules.ts';

const NAME = /\.(?<sequence>\d+)\.jsonl\.gz$/;

/** Files that are known already are not read again. */
export function archiveFiles(folder: string): () => ArchivedObject[] {
  const known = new Map<string, ArchivedObject>();
  return () => {
    for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
      const sequence = NAME.exec(name)?.groups?.['sequence'];
      if (sequence === undefined || known.has(name)) continue;
      known.set(name, objectOf(readFileSync(join(folder, name)), Number(sequence)));
    }
    return [...known.values()];
  };
}

interface Line {
  readonly kind?: string;
  readonly request_id?: string;
  readonly signal?: { readonly id: string };
  readonly lines?: number;
}

function objectOf(bytes: Buffer, sequence: number): ArchivedObject {
  const lines = linesOf(bytes);
  const end = lines.at(-1);
  return {
    requestId: lines[0]?.request_id ?? '',
    sequence,
    signalIds: lines.flatMap(({ signal }) => (signal === undefined ? [] : [signal.id])),
    whole: end?.kind === 'end' && end.lines === lines.length - 1,
  };
}

/** None: it is cut off or damaged. */
function linesOf(bytes: Buffer): Line[] {
  try {
    const text = gunzipSync(bytes).toString();
    return text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Line);
  } catch {
    return [];
  }
}
