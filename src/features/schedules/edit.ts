// A change of what a schedule is: when it fires and what it submits, decided over the schedule as it is.
// Must never leave an instant without its firing, nor let one be fired twice: what is marked or due already stays.
import { randomUUID } from 'node:crypto';
import type { ParseOptions } from '../../contract/directive/directive.ts';
import { DirectiveRefused, problem, ServiceUnavailable } from '../../contract/problem.ts';
import { replaceScheduleBodySchema } from '../../contract/schedule/schedule.ts';
import { ownId, tenantOf } from '../../contract/access/tenant.ts';
import { contentDigest } from '../../store/request/content-digest.ts';
import { nextInstant } from './instants.ts';
import { readBody } from '../../contract/json/read-input.ts';
import { checkedContent, type Content, neverFires } from './new-schedule.ts';
import {
  instantField,
  type Marked,
  type Schedule,
  type ScheduleOwner,
  type ScheduleSpec,
  timingOf,
} from './schedule-record.ts';
import type { ScheduleChange } from './schedule-store.ts';
import { versionOf } from './schedule-view.ts';

export interface Edit extends Content {
  /** Version of the content that is replaced. */
  readonly version: string;
}

/** `id`: with its tenant. Throws the refusal. */
export function readEdit(
  id: string,
  body: unknown,
  { parsing, closedMs }: { parsing: ParseOptions; closedMs(tenant: string): number },
): Edit {
  const { version, ...content } = readBody(replaceScheduleBodySchema, body);
  const parsed = { id: ownId(id), ...content };
  return { version, ...checkedContent(parsed, { parsing, closedMs: closedMs(tenantOf(id)) }) };
}

/** null: it is so already, as after a repeat. Throws the refusal. */
export function editing(
  schedule: Schedule,
  edit: Edit,
  { now, owner }: { now: number; owner: ScheduleOwner | null },
): ScheduleChange | null {
  if (schedule.digest === edit.digest || isAsItIs(schedule, edit, now)) return null;
  if (versionOf(schedule) !== edit.version) throw changedMeanwhile(schedule);
  const timed = timedAnew(schedule, edit.specAt(now), now);
  const { firingAt, queuedAt, nextAt, pausedText, versionText } = schedule;
  return {
    over: {
      version: versionText,
      firing: instantField(firingAt),
      queued: instantField(queuedAt),
      next_at: instantField(nextAt),
      paused: pausedText,
    },
    // Who fires the marked instant looks at it again, and nobody looks at what is paused.
    ...(firingAt !== null || schedule.paused !== null ? {} : { lookAt: now }),
    set: {
      version: randomUUID(),
      digest: edit.digest,
      spec: JSON.stringify(timed.spec),
      template: JSON.stringify(edit.template),
      owner: JSON.stringify(owner),
      next_at: instantField(timed.nextAt),
      ended_at: '',
      ...markedFields(schedule),
    },
  };
}

/** As it is shown, with its defaults: in other words than it was given. */
function isAsItIs({ spec, template, fault }: Schedule, edit: Edit, now: number): boolean {
  if (fault !== null) return false;
  const given = edit.specAt(now);
  return (
    hasTimingOf(given, spec) &&
    HOW.every((name) => given[name] === spec[name]) &&
    contentDigest(edit.template) === contentDigest(template)
  );
}

const HOW = ['jitter_ms', 'overlap', 'catch_up_ms', 'fires'] as const;

/** Content before the first change during a firing: later changes keep it. */
function markedFields({ firingAt, marked, template, owner, spec, fault }: Schedule): Record<string, string> {
  if (firingAt === null || marked !== null || fault !== null) return {};
  const { overlap, catch_up_ms } = spec;
  const kept: Marked = { template, owner, overlap, catch_up_ms };
  // @guard edit-marked
  return { marked: JSON.stringify(kept) };
}

/** Each keeps its instants until they are fired: this many changes without a firing are too many. */
const MOST_EARLIER = 8;

/** With the next instant: of a timing that is changed now, the first one after now, once those before are fired. */
function timedAnew(
  { spec: before, nextAt, firingAt, paused, endedAt }: Schedule,
  given: ScheduleSpec,
  now: number,
): { spec: ScheduleSpec; nextAt: number | null } {
  const { created_at, earlier } = before;
  const spec = { ...given, created_at, edited_at: new Date(now).toISOString() };
  if (hasTimingOf(spec, before)) {
    if (endedAt !== null) throw neverFires(spec);
    return { spec: { ...spec, anchor_at: before.anchor_at, earlier }, nextAt };
  }
  const following = nextInstant(timingOf({ spec }), now);
  if (following === null) throw neverFires(spec);
  const isDue = nextAt !== null && (nextAt === firingAt || (nextAt <= now && paused === null));
  // @guard edit-due
  if (!isDue) return { spec, nextAt: following };
  const left = earlier.filter(({ until }) => until > nextAt);
  if (left.length === MOST_EARLIER) throw tooMany();
  const { cron, time_zone, every_ms, anchor_at, starts_at, ends_at } = before;
  const replaced = { cron, time_zone, every_ms, anchor_at, starts_at, ends_at, until: Math.max(now, nextAt) };
  return { spec: { ...spec, earlier: [...left, replaced] }, nextAt };
}

const TIMING = ['cron', 'time_zone', 'every_ms', 'starts_at', 'ends_at'] as const;

function hasTimingOf(spec: ScheduleSpec, other: ScheduleSpec): boolean {
  return TIMING.every((name) => spec[name] === other[name]);
}

function changedMeanwhile({ id, spec }: Schedule): DirectiveRefused {
  const since = spec.edited_at ?? spec.created_at;
  const detail = `The schedule "${ownId(id)}" has another content since ${since}: read it, and change that.`;
  return new DirectiveRefused(problem('version_conflict', { detail }));
}

function tooMany(): ServiceUnavailable {
  const says = `Instants of before its last ${MOST_EARLIER} changes are not fired yet: change it again when they are`;
  return new ServiceUnavailable(says, { retryAfterMs: 5_000 });
}
