// Where the HTTP API keeps the things of a request.
// Must never let a character of an id change the path.

export function requestPath(requestId: string): string {
  return `/v1/requests/${encodeURIComponent(requestId)}`;
}

export function signalsPath(requestId: string): string {
  return `${requestPath(requestId)}/signals`;
}

export function directivePath(requestId: string, directiveId: string): string {
  return `${requestPath(requestId)}/directives/${encodeURIComponent(directiveId)}`;
}

/** The whole payload of a result, where the log holds a part of it. */
export function payloadPath(requestId: string, directiveId: string): string {
  return `${directivePath(requestId, directiveId)}/payload`;
}

export function approvalPath(requestId: string, callId: string): string {
  return `${requestPath(requestId)}/approvals/${encodeURIComponent(callId)}`;
}

/** What an answer says about where to go on. */
export function requestLinks(requestId: string): { request: string; signals: string } {
  return { request: requestPath(requestId), signals: signalsPath(requestId) };
}
