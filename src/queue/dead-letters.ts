// Lists dead letters: directives that ended in an error, as an operator looks at them.
// Must never list one whose record is gone.
import type { DeadLetter, DeadLetterFilter, DeadLetterPage } from '../contract/dead-letter.ts';
import type { Directive } from '../contract/directive.ts';
import type { ErrorEnvelope } from '../contract/error-envelope.ts';
import type { DeadEntry } from '../journal/dead-letter-index.ts';
import { decodeEnvelope } from '../journal/envelope.ts';
import { scan } from './dead-letter-scan.ts';
import { createRedrive, type RedriveParts } from './redrive.ts';

const DEFAULT_PAGE = 100;
const LARGEST_PAGE = 1_000;

export interface DeadLetterQuery extends DeadLetterFilter {
  after?: string;
  limit?: number;
}

export type DeadLetters = ReturnType<typeof createDeadLetters>;

function nameOf(directive: Directive): string | null {
  if ('tool_name' in directive) return directive.tool_name;
  return 'model' in directive ? (directive.model ?? directive.model_alias ?? null) : null;
}

export function createDeadLetters(parts: RedriveParts) {
  const { journal, dead } = parts;

  async function list({ after, limit = DEFAULT_PAGE, ...filter }: DeadLetterQuery): Promise<DeadLetterPage> {
    const letters: DeadLetter[] = [];
    const most = Math.min(limit, LARGEST_PAGE);
    for await (const { entry, next } of scan(dead, filter, Number(after ?? 0))) {
      const letter = await read(entry);
      if (letter) letters.push(letter);
      if (letters.length >= most) return { dead_letters: letters, next: String(next) };
    }
    return { dead_letters: letters, next: null };
  }

  async function read(entry: DeadEntry): Promise<DeadLetter | null> {
    const { requestId, id } = entry;
    const [record, json] = await Promise.all([
      journal.directive(requestId, id),
      journal.envelope(requestId, id),
    ]);
    if (!record || json === null || record.terminal === null) return null;
    const signal = await journal.log.at(requestId, record.terminal);
    const { directive } = decodeEnvelope(json);
    return {
      request_id: requestId,
      id,
      type: directive.type,
      lane: record.lane,
      name: nameOf(directive),
      error: errorOf(signal?.data),
      attempts: record.fence - record.released,
      ended_at: new Date(record.endedAt ?? entry.endedAt).toISOString(),
    };
  }

  return { list, redrive: createRedrive(parts) };
}

function errorOf(data: unknown): ErrorEnvelope {
  const result = (data as { result?: { error?: ErrorEnvelope } } | undefined)?.result;
  return (
    result?.error ?? { type: 'internal_error', message: 'the signal is gone', details: {}, retryable: false }
  );
}
