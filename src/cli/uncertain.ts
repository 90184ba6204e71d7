// Which of some dead letters may have happened already, so that whoever redrives them knows what is repeated.
// Must never call one certain that was not read.
import type { DirectiveClient } from '../contract/directive-client.ts';
import { isObject } from '../contract/json-object.ts';

interface Ref {
  readonly request_id: string;
  readonly id: string;
}

/** Each is read by itself. */
const MOST_READ = 50;

export const nameOf = ({ request_id, id }: Ref): string => `${request_id}/${id}`;

/** Their names; of the first fifty. */
export async function uncertainOf(
  refs: readonly Ref[],
  client: Pick<DirectiveClient, 'directive'>,
): Promise<ReadonlySet<string>> {
  const read = refs.slice(0, MOST_READ).map(async (ref) => {
    const view = await client.directive(ref.request_id, ref.id).catch(() => null);
    return mayHaveHappened(view?.result?.data) ? [nameOf(ref)] : [];
  });
  return new Set((await Promise.all(read)).flat());
}

/** The call may have reached the tool, and no answer of the tool came back. */
function mayHaveHappened(data: unknown): boolean {
  const result = isObject(data) ? data['result'] : null;
  const error = isObject(result) ? result['error'] : null;
  if (!isObject(error)) return false;
  return (
    error['type'] === 'outcome_unknown' ||
    (isObject(error['details']) && error['details']['outcome'] === 'unknown')
  );
}

/** Beside each that is redriven, or would be. */
export const REPEATS = 'may have happened already: it is called again';
