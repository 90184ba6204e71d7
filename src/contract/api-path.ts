// The URL paths of a request's resources in the HTTP API.
// Must never let a character of an id change the path.

/** Path of a request at the API. */
export function requestPath(requestId: string): string {
  return `/v1/requests/${encodeURIComponent(requestId)}`;
}

/** Path of the signals of a request at the API. */
export function signalsPath(requestId: string): string {
  return `${requestPath(requestId)}/signals`;
}

/** The request as it was archived. */
export function archivePath(requestId: string): string {
  return `${requestPath(requestId)}/archive`;
}

/** Path of the timeline of a request at the API. */
export function timelinePath(requestId: string): string {
  return `${requestPath(requestId)}/timeline`;
}

/** Path of a directive at the API. */
export function directivePath(requestId: string, directiveId: string): string {
  return `${requestPath(requestId)}/directives/${encodeURIComponent(directiveId)}`;
}

/** The whole payload of a result whose signal holds only a part. */
export function payloadPath(requestId: string, directiveId: string): string {
  return `${directivePath(requestId, directiveId)}/payload`;
}

/** Path of a schedule at the API. */
export function schedulePath(scheduleId: string): string {
  return `/v1/schedules/${encodeURIComponent(scheduleId)}`;
}

/** The links in an answer. */
export function requestLinks(requestId: string): { request: string; signals: string } {
  return { request: requestPath(requestId), signals: signalsPath(requestId) };
}
