// A schedule as Redis holds it: the fields of its hash, read and written.
// Must never fail the list for one record that this version cannot read.
import * as z from 'zod';
import { jsonObjectSchema, instantSchema } from '../../contract/identifiers.ts';
import { firingSchema, OVERLAPS, type Firing } from '../../contract/schedule/schedule.ts';
import type { OwnTiming, Timing } from './instants.ts';

/** Owner of the rights at each firing. The rights are those of a token; those of a key are read anew. */
export const ownerSchema = z.object({
  id: z.string(),
  name: z.string(),
  tools: z.array(z.string()).nullable(),
  agents: z.array(z.string()).nullable(),
  models: z.array(z.string()).nullable(),
  perMinute: z.number().nullable(),
  perDay: z.number().nullable(),
  tokensPerDay: z.number().nullable().default(null),
  moneyPerDay: z.number().nullable().default(null),
});

export type ScheduleOwner = z.infer<typeof ownerSchema>;

const timing = {
  cron: z.string().nullable(),
  time_zone: z.string().nullable(),
  every_ms: z.number().nullable(),
  anchor_at: z.number(),
  starts_at: z.string().nullable(),
  ends_at: z.string().nullable(),
};

const specSchema = z.object({
  ...timing,
  jitter_ms: z.number(),
  overlap: z.enum(OVERLAPS),
  catch_up_ms: z.number(),
  created_at: instantSchema,
  edited_at: instantSchema.nullable().default(null),
  fires: z.enum(['directives', 'run']),
  /** Timings that were replaced before all of their instants were fired, the oldest first. */
  earlier: z.array(z.object({ ...timing, until: z.number() })).default([]),
});

/** Submitted content: a field of its own, since most readers of a schedule do not need it. */
const templateSchema = z.object({
  directives: z.array(jsonObjectSchema).optional(),
  run: jsonObjectSchema.optional(),
});

/** When it fires, and how. */
export type ScheduleSpec = z.infer<typeof specSchema>;

/** With what an instant was marked that is being fired, where the schedule was changed since. */
const markedSchema = z.object({
  template: templateSchema,
  owner: ownerSchema.nullable(),
  overlap: z.enum(OVERLAPS),
  catch_up_ms: z.number(),
});

export type Marked = z.infer<typeof markedSchema>;

const pausedSchema = z.object({ at: instantSchema, by: z.string().nullable(), note: z.string().nullable() });

export type Paused = z.infer<typeof pausedSchema>;

const waitingSchema = z.object({ since: instantSchema, reason: z.string() });

/** An instant was refused for now. */
export type Waiting = z.infer<typeof waitingSchema>;

/** Without what it submits. */
export interface ScheduleHead {
  /** With its tenant. */
  readonly id: string;
  /** Tells it from another one that was made under the same id before. */
  readonly made: string;
  /** Version of its content, as it is written; '': unchanged since its creation. */
  readonly versionText: string;
  /** Digest of its caller's content. */
  readonly digest: string;
  readonly spec: ScheduleSpec;
  readonly owner: ScheduleOwner | null;
  /** Why it fires nothing: this version cannot read with whose rights it would; null: it can. */
  readonly fault: string | null;
  /** The next instant, milliseconds since the epoch; null: none follows. Computed once, for machines know different rules of time. */
  readonly nextAt: number | null;
  /** The instant that waits for the end of the one before. */
  readonly queuedAt: number | null;
  /** The instant that is being fired, and since when. */
  readonly firingAt: number | null;
  readonly begunAt: number;
  /** Why `firingAt` was not fired yet. */
  readonly waiting: Waiting | null;
  /** The instant that the budget of the owner has paid for. */
  readonly paidAt: number | null;
  readonly paused: Paused | null;
  /** As it is written, also by a version that writes more. */
  readonly pausedText: string;
  /** Requests that may be open, as the tenant knows them, newest first. */
  readonly requests: readonly string[];
  readonly endedAt: number | null;
  readonly failing: number;
  readonly counts: { fired: number; triggered: number; skipped: number; failed: number; missed: number };
}

export interface Schedule extends ScheduleHead {
  readonly template: z.infer<typeof templateSchema>;
  /** null: what is being fired, if anything, is of the present content. */
  readonly marked: Marked | null;
}

export type ScheduleFields = Readonly<Record<string, string>>;

/** null: there is none, or this version cannot read it. */
export function readSchedule(id: string, fields: ScheduleFields): Schedule | null {
  const head = readHead(id, fields);
  const template = templateSchema.safeParse(parsed(fields['template']));
  if (head === null || !template.success) return null;
  const marked = markedSchema.nullable().catch(null).parse(parsed(fields['marked']));
  return { ...head, template: template.data, marked };
}

/** As it was when the instant that is being fired was marked; when it fires next is as it is now. */
export function asMarked(schedule: Schedule): Schedule {
  const { marked, spec, firingAt } = schedule;
  if (marked === null || firingAt === null) return schedule;
  const { template, owner, overlap, catch_up_ms } = marked;
  return { ...schedule, template, owner, fault: null, spec: { ...spec, overlap, catch_up_ms } };
}

/** The fields of a head. */
export const HEAD_FIELDS = [
  'made',
  'version',
  'digest',
  'spec',
  'owner',
  'next_at',
  'queued',
  'firing',
  'begun_at',
  'waiting',
  'paid',
  'paused',
  'requests',
  'ended_at',
  'failing',
  'fired',
  'triggered',
  'skipped',
  'failed',
  'missed',
] as const;

/** null: there is none, or this version cannot read it. */
export function readHead(id: string, fields: ScheduleFields): ScheduleHead | null {
  const spec = specSchema.safeParse(parsed(fields['spec']));
  if (!spec.success) return null;
  const owner = ownerSchema.nullable().safeParse(parsed(fields['owner']));
  return {
    id,
    made: fields['made'] ?? '',
    versionText: fields['version'] ?? '',
    digest: fields['digest'] ?? '',
    spec: spec.data,
    owner: owner.success ? owner.data : null,
    fault: owner.success ? null : UNREADABLE_OWNER,
    nextAt: instantOf(fields['next_at']),
    queuedAt: instantOf(fields['queued']),
    firingAt: instantOf(fields['firing']),
    begunAt: Number(fields['begun_at'] ?? 0),
    waiting: waitingSchema.nullable().catch(null).parse(parsed(fields['waiting'])),
    paidAt: instantOf(fields['paid']),
    paused: pausedSchema.nullable().catch(UNREADABLE_PAUSE).parse(parsed(fields['paused'])),
    pausedText: fields['paused'] ?? '',
    requests: z.array(z.string()).catch([]).parse(parsed(fields['requests'])),
    endedAt: instantOf(fields['ended_at']),
    failing: countOf(fields['failing']),
    counts: countsOf(fields),
  };
}

function countsOf(fields: ScheduleFields): Schedule['counts'] {
  return {
    fired: countOf(fields['fired']),
    triggered: countOf(fields['triggered']),
    skipped: countOf(fields['skipped']),
    failed: countOf(fields['failed']),
    missed: countOf(fields['missed']),
  };
}

const UNREADABLE_OWNER =
  'Another version has written with whose rights it fires, and this one cannot read it: resume it with yours.';

/** Whether it is paused, by a person or by itself. */
const UNREADABLE_PAUSE: Paused = {
  at: '1970-01-01T00:00:00.000Z',
  by: null,
  note: 'Another version has written who paused it, and this one cannot read it.',
};

export function timingOf({ spec }: Pick<Schedule, 'spec'>): Timing {
  const earlier = spec.earlier.map((each) => ({ ...ownTiming(each), until: each.until }));
  return { ...ownTiming(spec), jitterMs: spec.jitter_ms, earlier };
}

function ownTiming(spec: Omit<ScheduleSpec['earlier'][number], 'until'>): OwnTiming {
  return {
    cron: spec.cron,
    timeZone: spec.time_zone,
    everyMs: spec.every_ms,
    anchorAt: spec.anchor_at,
    startsAt: spec.starts_at === null ? null : Date.parse(spec.starts_at),
    endsAt: spec.ends_at === null ? null : Date.parse(spec.ends_at),
  };
}

/** Records of other versions in another form are left out. */
export function readHistory(entries: readonly string[]): Firing[] {
  return entries.flatMap((entry) => {
    const read = firingSchema.safeParse(parsed(entry));
    return read.success ? [read.data] : [];
  });
}

/** Milliseconds since the epoch as a field; '' means null. */
export function instantField(at: number | null): string {
  return at === null ? '' : String(at);
}

function instantOf(field: string | undefined): number | null {
  return field === undefined || field === '' ? null : Number(field);
}

function countOf(field: string | undefined): number {
  return Math.max(0, Number(field ?? 0) || 0);
}

function parsed(text: string | undefined): unknown {
  try {
    return text === undefined || text === '' ? null : (JSON.parse(text) as unknown);
  } catch {
    return undefined;
  }
}

/** No instant is being fired. */
export const NOT_BEGUN = { firing: '', begun_at: '', waiting: '', paid: '', marked: '' };

/** Fields that must be unchanged since the next step was decided. */
export function asRead({
  nextAt,
  queuedAt,
  firingAt,
  pausedText,
  versionText,
  requests,
}: Schedule): Record<string, string> {
  return {
    next_at: instantField(nextAt),
    queued: instantField(queuedAt),
    firing: instantField(firingAt),
    requests: JSON.stringify(requests),
    // @guard edit-version
    version: versionText,
    // What is being fired is fired, though it was paused since.
    ...(firingAt === null ? { paused: pausedText } : {}),
  };
}
