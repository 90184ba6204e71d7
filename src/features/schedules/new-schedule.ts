// A schedule as it is first written: what the caller gave, checked, with its first instant.
// Must never pass on one that would never fire, or that could fire an instant again after its request is gone.
import type { ParseOptions } from '../../contract/directive/directive.ts';
import { refusedAt } from '../../contract/json/field-error.ts';
import { readBody } from '../../contract/json/read-input.ts';
import { createScheduleBodySchema, type ParsedSchedule } from '../../contract/schedule/schedule.ts';
import { scopedId } from '../../contract/access/tenant.ts';
import { contentDigest } from '../../store/request/content-digest.ts';
import { cronTimes, isTimeZone } from './cron.ts';
import { nextInstant } from './instants.ts';
import { type ScheduleSpec, timingOf } from './schedule-record.ts';
import { readTemplate, type Template } from './template.ts';

const DEFAULT_CATCH_UP_MS = 3_600_000;

export interface Making {
  readonly tenant: string;
  /** Time of Redis, milliseconds since the epoch. */
  readonly now: number;
  readonly parsing: ParseOptions;
  /** How long a closed request of the tenant stays readable, milliseconds. */
  closedMs(tenant: string): number;
}

export interface FirstRecord {
  /** With its tenant. */
  readonly id: string;
  /** Digest of the caller's content. */
  readonly digest: string;
  readonly spec: ScheduleSpec;
  readonly template: Template;
  readonly nextAt: number;
}

/** Throws the refusal. */
export function newSchedule(body: unknown, { tenant, now, parsing, closedMs }: Making): FirstRecord {
  const parsed = readBody(createScheduleBodySchema, body);
  const fault = faultOfId(parsed.id);
  if (fault !== null) throw refusedAt('invalid_body', [{ path: 'id', message: fault }]);
  const { digest, template, specAt } = checkedContent(parsed, { parsing, closedMs: closedMs(tenant) });
  const spec = specAt(now);
  const nextAt = nextInstant(timingOf({ spec }), now);
  if (nextAt === null) throw neverFires(spec);
  return { id: scopedId(tenant, parsed.id), digest, spec, template, nextAt };
}

/** When a schedule fires and what it submits, as a caller gave it. */
export interface Content {
  readonly digest: string;
  readonly template: Template;
  /** As of a schedule that is made at this instant. */
  specAt(now: number): ScheduleSpec;
}

/** Throws the refusal. */
export function checkedContent(
  parsed: ParsedSchedule,
  { parsing, closedMs }: { parsing: ParseOptions; closedMs: number },
): Content {
  const template = readTemplate(parsed, parsing);
  checkTiming(parsed);
  checkCatchUp(parsed, closedMs);
  return {
    digest: contentDigest(parsed),
    template,
    specAt: (now) => specOf(parsed, { now, closedMs }),
  };
}

/** The ids of its firings would equal those of triggers of another schedule. */
const TRIGGER_NAME = /\.trigger(?:\.|$)/;
const NO_TRIGGER = 'must not have ".trigger" as a part';
const NO_PATH =
  'must not be "." or "..": neither can be part of a URL, so it could not be changed or deleted';

function faultOfId(id: string): string | null {
  if (id === '.' || id === '..') return NO_PATH;
  return TRIGGER_NAME.test(id) ? NO_TRIGGER : null;
}

/** Throws the refusal. */
function checkTiming({ cron, time_zone: zone = 'UTC' }: ParsedSchedule): void {
  if (cron === undefined) return;
  if (!isTimeZone(zone))
    throw refusedAt('invalid_body', [
      { path: 'time_zone', message: `"${zone}" is not known here, as Europe/Berlin is` },
    ]);
  try {
    cronTimes(cron, zone);
  } catch (error) {
    throw refusedAt('invalid_body', [{ path: 'cron', message: (error as Error).message }]);
  }
}

/** Throws the refusal. */
function checkCatchUp({ catch_up_ms: catchUpMs }: ParsedSchedule, closedMs: number): void {
  if (catchUpMs !== undefined && catchUpMs >= closedMs)
    throw refusedAt('invalid_body', [{ path: 'catch_up_ms', message: tooLong(closedMs) }]);
}

function specOf(parsed: ParsedSchedule, { now, closedMs }: { now: number; closedMs: number }): ScheduleSpec {
  const { cron = null, time_zone = null, every_ms = null, jitter_ms, overlap } = parsed;
  const { starts_at = null, ends_at = null, catch_up_ms } = parsed;
  const anchor = starts_at === null ? now : Date.parse(starts_at);
  return {
    cron,
    time_zone: cron === null ? null : (time_zone ?? 'UTC'),
    every_ms,
    jitter_ms,
    overlap,
    starts_at,
    ends_at,
    fires: parsed.run === undefined ? 'directives' : 'run',
    anchor_at: Math.ceil(anchor / 1_000) * 1_000,
    catch_up_ms: catch_up_ms ?? Math.min(DEFAULT_CATCH_UP_MS, Math.floor(closedMs / 2)),
    created_at: new Date(now).toISOString(),
    edited_at: null,
    earlier: [],
  };
}

function tooLong(closedMs: number): string {
  return `must be shorter than retention.closed_ms (${closedMs}): an instant could be fired again after its request is gone`;
}

/** The refusal. */
export function neverFires({ cron, ends_at: endsAt }: Pick<ScheduleSpec, 'cron' | 'ends_at'>) {
  const message = 'no instant follows: it would never fire';
  const path = endsAt !== null ? 'ends_at' : cron !== null ? 'cron' : 'every_ms';
  return refusedAt('invalid_body', [{ path, message }]);
}
