// A run that is to begin, as the scripts that start one read it.
// Must never decide anything: the words of a script are written in its file.
import type { Later } from '../../contract/directive/later.ts';

export interface NewRun {
  requestId: string;
  /** Digest of the submission: the same content is the same run. */
  digest: string;
  agent: string;
  /** JSON. */
  spec: string;
  traceparent: string;
  /** Default: it begins at once. */
  later?: Later | null;
}

/** ARGV[1..6] of run-start.lua. */
export function startWords(
  { digest, agent, spec, traceparent, later }: NewRun,
  mostBytes: number,
): (string | number)[] {
  const begins = later ? `${later.when ?? '-'} ${later.startByMs ?? '-'}` : '';
  return [digest, agent, spec, traceparent, mostBytes, begins];
}
