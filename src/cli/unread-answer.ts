/** What a command says when its work was accepted, and its key may not read what becomes of it.
 *  It must never look like work that was refused: a script would submit it again. */
import { DirectiveRefused } from '../contract/problem.ts';
import { ADJUTANT } from './command-name.ts';
import { CliFailure, EXIT } from './failure.ts';

/** Runs `reading`; a refusal of the key becomes a failure with an exit code of its own. */
export async function orUnread<T>(
  reading: () => Promise<T>,
  { requestId, id }: { readonly requestId: string; readonly id?: string },
): Promise<T> {
  try {
    return await reading();
  } catch (error) {
    if (!(error instanceof DirectiveRefused) || !isOfKey(error)) throw error;
    const accepted = id === undefined ? `request ${requestId}` : `${id} in request ${requestId}`;
    const place = id === undefined ? requestId : `${requestId} ${id}`;
    const options = { cause: error };
    throw new CliFailure(
      {
        what: `Accepted as ${accepted}, and not followed: ${error.message}`,
        how: `Do not submit it again. With a key that has the scope read: ${ADJUTANT} get ${place}`,
        exitCode: EXIT.unread,
        ids: { request_id: requestId, ...(id === undefined ? {} : { directive_id: id }) },
      },
      options,
    );
  }
}

function isOfKey({ problem: { code } }: DirectiveRefused): boolean {
  return code === 'forbidden' || code === 'unauthorized';
}
