// The refusal of work that does not fit into a request, in the same words for directives, runs and inputs. Never used
// for accepted work: that always ends.
import { ownId } from '../../contract/access/tenant.ts';
import { DirectiveRefused, problem, type Problem } from '../../contract/problem.ts';

/** `bytes`: what the request holds already. */
export function requestFullProblem(requestId: string, bytes: number, limit: number): Problem {
  const detail =
    `request "${ownId(requestId)}" holds ${bytes} bytes and would exceed its limit: limits.request_bytes is ${limit}; ` +
    'nothing was accepted, use another request';
  return problem('request_full', { detail, limit: 'request_bytes', limit_bytes: limit, used_bytes: bytes });
}

export function requestFull(requestId: string, bytes: number, limit: number): DirectiveRefused {
  return new DirectiveRefused(requestFullProblem(requestId, bytes, limit));
}
