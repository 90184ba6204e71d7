/** Owners of runs, and the refusals of new calls.
 *  The same name of another caller is another run, so that no caller learns which runs there are. */
import type { Principal } from '../../http/access/principal.ts';
import { DEFAULT_TENANT } from '../../contract/access/tenant.ts';
import { readInput } from '../../contract/json/read-input.ts';
import { DirectiveRefused, problem } from '../../contract/problem.ts';
import { runNameSchema } from '../../contract/run/foreign-run.ts';
import type { Refusal, RunOwner } from './run-store.ts';

const MOST_MARK_CHARACTERS = 128;

export function ownerOf(run: string, principal: Principal | null): RunOwner {
  const name = readInput(runNameSchema, run, 'invalid_body');
  return { tenant: principal?.tenant ?? DEFAULT_TENANT, principal, run: name };
}

export function markOf(header: string | readonly string[] | null | undefined): string {
  return String(header ?? '').slice(0, MOST_MARK_CHARACTERS);
}

export function refusalOf({ run }: RunOwner, { kind }: Refusal): DirectiveRefused {
  const detail =
    kind === 'ended'
      ? `The run ${run} is closed: what it has recorded is answered, and nothing new is made. Use another name for a new run.`
      : `The run ${run} has reached its bound of calls. Use another name for a new run.`;
  return new DirectiveRefused(problem(kind === 'ended' ? 'request_closed' : 'request_full', { detail }));
}
