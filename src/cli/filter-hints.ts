// Why a filter may fit nothing: a type of error or a lane that looks like a mistyped one.
// Must never call a name wrong that only nobody has used yet: types of errors may be a tool's own.
import { closeNames } from '../bounds/close-names.ts';
import type { DirectiveClient } from '../contract/directive-client.ts';
import { ERROR_TYPES } from '../contract/error-envelope.ts';
import { oneLine } from './terminal.ts';

interface HintedFilter {
  readonly errorType?: string;
  readonly lane?: string;
}

/** Sentences; none where nothing looks mistyped. */
export async function filterHints(
  { errorType, lane }: HintedFilter,
  client: Pick<DirectiveClient, 'lanes'>,
): Promise<string[]> {
  const hints = errorType === undefined ? [] : hint('--error-type', errorType, ERROR_TYPES);
  if (lane === undefined) return hints;
  // A key may not read the lanes: then there is no hint.
  const listed = await client.lanes().catch(() => null);
  return [...hints, ...hint('--lane', lane, listed?.lanes.map(({ name }) => name) ?? [])];
}

function hint(option: string, asked: string, known: readonly string[]): string[] {
  if (known.includes(asked)) return [];
  const close = closeNames(asked, known);
  return close.length === 0 ? [] : [`did you mean ${option} ${oneLine(close.join(` or ${option} `), 300)}?`];
}
