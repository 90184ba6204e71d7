/** What the archive promises: each closed request is in it once as it closed last, whole, with its last signals.
 *  It must never share code with what it checks. */

/** A closed request as it was judged. */
export interface ClosedRequest {
  readonly requestId: string;
  readonly sequence: number;
  readonly lastSignalId: string | null;
}

/** One object of the archive. */
export interface ArchivedObject {
  readonly requestId: string;
  /** As its name says: how many signals it has. */
  readonly sequence: number;
  readonly signalIds: readonly string[];
  /** Its last line is there, and counts the lines before it. */
  readonly whole: boolean;
}

/** Sentences by request; no entry: the promises were kept. */
export function archiveViolationsOf(
  closed: Iterable<ClosedRequest>,
  objects: readonly ArchivedObject[],
): Map<string, string[]> {
  const byRequest = Map.groupBy(objects, ({ requestId }) => requestId);
  const found = new Map<string, string[]>();
  for (const request of closed) {
    const sentences = violationsOf(request, byRequest.get(request.requestId) ?? []);
    if (sentences.length > 0) found.set(request.requestId, sentences);
  }
  return found;
}

function violationsOf(
  { sequence, lastSignalId }: ClosedRequest,
  objects: readonly ArchivedObject[],
): string[] {
  const last = objects.filter((object) => object.sequence === sequence);
  const [only] = last;
  if (only === undefined) return [`the archive lacks it as it closed with ${sequence} signals`];
  const later = objects.filter((object) => object.sequence > sequence);
  const partial = objects.filter(({ whole, signalIds, ...object }) => {
    return !whole || signalIds.length !== object.sequence;
  });
  return [
    ...(last.length === 1 ? [] : [`the archive has it ${last.length} times with ${sequence} signals`]),
    ...later.map((object) => `the archive has it with ${object.sequence} signals, and it has ${sequence}`),
    ...partial.map((object) => `the archive has only a part of it with ${object.sequence} signals`),
    ...((only.signalIds.at(-1) ?? null) === lastSignalId ? [] : ['the archive has another last signal']),
  ];
}
