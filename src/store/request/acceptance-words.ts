// Acceptances and announcements as the scripts of the journal read them.
// Must never decide anything: the words of a script are written in its file.
import type { KeySpace } from '../keys.ts';
import type { Acceptance, Announcement, WithAcceptance } from './journal.ts';
import { writeSignal } from '../log/stored-signal.ts';

const NOTHING_TOGETHER: WithAcceptance = {
  rowAfterMs: null,
  announcements: [],
  laneBase: null,
};

/** The KEYS of `include-entrance.lua`. */
export function keysTogether(
  { sweep, changedRequests }: KeySpace,
  together: WithAcceptance | undefined,
): string[] {
  if (together === undefined) return [];
  const { laneBase } = together;
  return [sweep, changedRequests, ...(laneBase === null ? [] : [laneBase])];
}

/** The arguments that `announce` of `include-entrance.lua` reads. */
export function announced({ rowAfterMs, announcements }: WithAcceptance = NOTHING_TOGETHER): (
  | string
  | number
)[] {
  return [rowAfterMs ?? '', announcements.length, ...announcements.flatMap(announcementWords)];
}

function announcementWords({ id, afterMs, later }: Announcement): (string | number)[] {
  return later === undefined ? [afterMs, id] : [later.when, `${id}|${later.lane}`];
}

/** As include-accept.lua reads them. */
export function acceptanceWords(
  requestId: string,
  batch: readonly Acceptance[],
  together: WithAcceptance | undefined,
): (string | number)[] {
  return batch.flatMap((directive) => {
    const { id, type, digest, lane, envelope, end, noticed } = directive;
    return [
      id,
      type,
      digest,
      lane ?? '',
      deadlineWords(directive),
      envelope,
      end?.status ?? '',
      end ? writeSignal(requestId, end.signal) : '',
      noticed === true ? 1 : '',
      ...jobWords(directive, together),
    ];
  });
}

/** '' = the script enqueues no job of it. */
function jobWords({ job }: Acceptance, together: WithAcceptance | undefined): [string, string] {
  if (job === undefined || (together?.laneBase ?? null) === null) return ['', ''];
  return [JSON.stringify(job.data), JSON.stringify(job.options)];
}

function deadlineWords({ deadlineMs, later }: Acceptance): string | number {
  return later ? `${deadlineMs} ${later.when ?? '-'} ${later.startByMs ?? '-'}` : deadlineMs;
}
