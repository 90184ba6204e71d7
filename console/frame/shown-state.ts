/** The state that the word in the top bar says.
 *  It must never be live while the service is away. */

/** `ofPage`: of the stream of the page; null: it has none. A stream may stay open while nothing can come. */
export function shownState<State extends string>(
  ofPage: State | null,
  answers: boolean,
): State | 'live' | 'reconnecting' {
  if (!answers && (ofPage === null || ofPage === 'live')) return 'reconnecting';
  return ofPage ?? 'live';
}
