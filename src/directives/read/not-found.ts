// The refusals of what Redis does not hold, and of what exceeds the bounds of a request.
// Must never say why something is not there: it may never have been, or be kept no longer.
import { ownId } from '../../contract/access/tenant.ts';
import { DirectiveRefused, problem, type Problem } from '../../contract/problem.ts';

export function unknownDirective(requestId: string, directiveId: string): DirectiveRefused {
  return notFound(`request "${ownId(requestId)}" has no directive "${directiveId}"`);
}

export function noPayload(requestId: string, directiveId: string): DirectiveRefused {
  return notFound(
    `directive "${directiveId}" of request "${ownId(requestId)}" has no payload, or it is no longer kept`,
  );
}

export function unknownRequest(requestId: string): DirectiveRefused {
  return notFound(`there is no request "${ownId(requestId)}"`);
}

export function unknownWorker(id: string): DirectiveRefused {
  return notFound(`there is no worker "${id}"`);
}

export function notAWorker(id: string): DirectiveRefused {
  return notFound(`process "${id}" is an API: it takes no work that could be drained`);
}

function notFound(detail: string): DirectiveRefused {
  return new DirectiveRefused(problem('not_found', { detail }));
}

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
