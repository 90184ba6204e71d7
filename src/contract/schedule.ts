// A schedule on the wire: when it fires, what it submits each time, what became of it.
// Must never hold a decision of when to fire: those are in `src/schedules`.
import * as z from 'zod';
import { identifierSchema, instantSchema, jsonObjectSchema } from './identifiers.ts';

const count = z.int().min(0);

const LONGEST_EVERY_MS = 366 * 86_400_000;
const LONGEST_JITTER_MS = 3_600_000;
const LONGEST_CATCH_UP_MS = 365 * 86_400_000;
export const SHORTEST_EVERY_MS = 1_000;

/** The requests of firings have ids of this form, and nobody else's. */
export const FIRING_PREFIX = 'schedule.';

/** Shorter than other ids: those of the requests begin with it. */
export const scheduleIdSchema = z
  .string()
  .regex(/^[A-Za-z0-9._:-]{1,64}$/, '1 to 64 characters of A-Z a-z 0-9 . _ : -');

export const firingKeySchema = z
  .string()
  .regex(/^[A-Za-z0-9._:-]{1,40}$/, '1 to 40 characters of A-Z a-z 0-9 . _ : -');

/** What to do at an instant while a request of an earlier one is open. */
export const OVERLAPS = ['skip', 'queue_one', 'allow', 'cancel_running'] as const;
export type Overlap = (typeof OVERLAPS)[number];

const noteSchema = z
  .string()
  .regex(/^[^\p{Cc}\p{Cs}\p{Zl}\p{Zp}]{1,256}$/u, '1 to 256 characters, no control characters');

const timing = {
  /** Five fields, or six with seconds first. */
  cron: z.string().min(1).max(128).optional(),
  /** Of `cron`: an IANA name. Default: UTC. */
  time_zone: z
    .string()
    .regex(/^[A-Za-z0-9_+/-]{1,64}$/, 'the name of a time zone, as in Europe/Berlin')
    .optional(),
  /** Instead of `cron`: so many milliseconds apart, counted from `starts_at` or the creation. Whole seconds. */
  every_ms: z.int().min(SHORTEST_EVERY_MS).max(LONGEST_EVERY_MS).multipleOf(1_000).optional(),
  /** Each firing is later by a part of it, the same part in every process. */
  jitter_ms: z.int().min(0).max(LONGEST_JITTER_MS).default(0),
  starts_at: instantSchema.optional(),
  ends_at: instantSchema.optional(),
  overlap: z.enum(OVERLAPS).default('skip'),
  /** How late an instant is still fired, after an outage. Default: an hour, or half of `retention.closed_ms`. */
  catch_up_ms: z.int().min(1_000).max(LONGEST_CATCH_UP_MS).optional(),
};

/** What is submitted each time: directives or a run, without a `request_id`. */
const template = {
  /** As in `POST /v1/directives`. */
  directives: z.array(jsonObjectSchema).min(1).max(1_000).optional(),
  /** As in `POST /v1/requests`. */
  run: jsonObjectSchema.optional(),
};

const contentSchema = z.strictObject({ ...timing, ...template });

function checkContent(
  body: z.output<typeof contentSchema>,
  { addIssue }: Pick<z.RefinementCtx, 'addIssue'>,
): void {
  const refuse = (path: string, message: string): void => addIssue({ code: 'custom', path: [path], message });
  if ((body.cron === undefined) === (body.every_ms === undefined))
    refuse('cron', 'either cron or every_ms is required, not both');
  if (body.cron === undefined && body.time_zone !== undefined) refuse('time_zone', 'belongs to cron');
  if ((body.directives === undefined) === (body.run === undefined))
    refuse('directives', 'either directives or run is required, not both');
}

export const createScheduleBodySchema = z
  .strictObject({ id: scheduleIdSchema, ...contentSchema.shape })
  .superRefine(checkContent);

/** The whole content: what is left out has its default, whatever it was before. */
export const replaceScheduleBodySchema = z
  .strictObject({
    /** Of what was read: the content that is replaced. Refused with `version_conflict` where somebody has replaced it since. */
    version: z.string().min(1).max(64),
    ...contentSchema.shape,
  })
  .superRefine(checkContent);

export type SubmittedSchedule = z.input<typeof createScheduleBodySchema>;
export type ParsedSchedule = z.output<typeof createScheduleBodySchema>;
export type ReplacedSchedule = z.input<typeof replaceScheduleBodySchema>;

export const pauseScheduleBodySchema = z.strictObject({ note: noteSchema.optional() }).prefault({});
export const triggerScheduleBodySchema = z
  .strictObject({
    /** The same key is the same firing. */
    key: firingKeySchema.optional(),
  })
  .prefault({});

export type PauseScheduleBody = z.input<typeof pauseScheduleBodySchema>;
export type TriggerScheduleBody = z.input<typeof triggerScheduleBodySchema>;

/**
 * `fired`: what it submits was accepted. `skipped`: as `overlap` says. `failed`: it was refused. `missed`: nobody was there within
 * `catch_up_ms`. `triggered`: somebody asked for it.
 */
export const FIRING_OUTCOMES = ['fired', 'triggered', 'skipped', 'failed', 'missed'] as const;
export type FiringOutcome = (typeof FIRING_OUTCOMES)[number];

export const firingSchema = z.object({
  /** The instant of the schedule, without jitter. Of `missed` the first one. */
  scheduled_at: instantSchema,
  /** When it was recorded. */
  at: instantSchema,
  outcome: z.enum(FIRING_OUTCOMES),
  reason: z.string().nullable(),
  request_id: identifierSchema.nullable(),
  /** Of `missed`: how many instants there were, and the last one. 1 for all others. */
  instants: count,
  until: instantSchema.nullable(),
  links: z.object({ request: z.string() }).nullable(),
});

export type Firing = z.infer<typeof firingSchema>;

export const SCHEDULE_STATUSES = ['active', 'paused', 'ended'] as const;

export const listedScheduleSchema = z.object({
  id: scheduleIdSchema,
  /** `ended`: no instant follows. It is removed a week later. */
  status: z.enum(SCHEDULE_STATUSES),
  cron: z.string().nullable(),
  time_zone: z.string().nullable(),
  every_ms: count.nullable(),
  jitter_ms: count,
  starts_at: instantSchema.nullable(),
  ends_at: instantSchema.nullable(),
  overlap: z.enum(OVERLAPS),
  catch_up_ms: count,
  fires: z.enum(['directives', 'run']),
  /** Without jitter; null: it is paused or has ended. */
  next_at: instantSchema.nullable(),
  /** The instant that waits for the end of the one before, with `queue_one`. */
  queued_at: instantSchema.nullable(),
  created_at: instantSchema,
  /** Since when the content is as it is; null: since the creation. */
  edited_at: instantSchema.nullable(),
  /** Of the content: another one after each change of it. Pausing and firing do not change it. */
  version: z.string(),
  /** Name of the key that it fires with; null: nobody was asked for a key. */
  fires_as: z.string().nullable(),
  /** `by` null: nobody was asked for a key, or the service has paused it, as `note` says. */
  paused: z.object({ at: instantSchema, by: z.string().nullable(), note: z.string().nullable() }).nullable(),
  /** An instant was refused for now, since when and why the last time: it is tried until `catch_up_ms` is over. */
  waiting: z.object({ since: instantSchema, reason: z.string() }).nullable(),
  counts: z.object({ fired: count, triggered: count, skipped: count, failed: count, missed: count }),
  failures_in_a_row: count,
  last: firingSchema.nullable(),
});

export const scheduleListingSchema = z.object({
  schedules: z.array(listedScheduleSchema),
  /** The `after` of the page that follows; null: this is the last one. */
  next: z.string().nullable(),
});

export const scheduleViewSchema = z.object({
  ...listedScheduleSchema.shape,
  /** What it submits. */
  template: z.object({ directives: z.array(jsonObjectSchema).optional(), run: jsonObjectSchema.optional() }),
  /** Newest first; the last 100. */
  history: z.array(firingSchema),
});

export const scheduleQuerySchema = z.strictObject({
  after: scheduleIdSchema.optional(),
  limit: z.int().min(1).max(1_000).optional(),
});

/** What replaces a schedule: its content, or what was shown of it with changes. Of that, null is absent, and what only the service writes is left out. */
export const putScheduleBodySchema = z.union([
  replaceScheduleBodySchema,
  z.strictObject({ ...scheduleViewSchema.partial().shape, version: replaceScheduleBodySchema.shape.version }),
]);

export type EditedSchedule = z.input<typeof putScheduleBodySchema>;

export type ListedSchedule = z.infer<typeof listedScheduleSchema>;
export type ScheduleListing = z.infer<typeof scheduleListingSchema>;
export type ScheduleView = z.infer<typeof scheduleViewSchema>;
export type ScheduleQuery = z.input<typeof scheduleQuerySchema>;

/** What a program does with schedules. An unknown schedule is refused with `not_found`. */
export interface ScheduleClient {
  /** The same id with the same content is the same schedule; another content is refused with `id_conflict`. */
  create(schedule: SubmittedSchedule): Promise<ScheduleView>;
  list(query?: ScheduleQuery): Promise<ScheduleListing>;
  get(id: string): Promise<ScheduleView>;
  /**
   * Replaces when it fires and what it submits; its history and a pause stay. What is being fired is fired as it was. From here on it
   * fires with the key of the caller. Refused with `version_conflict` where the content is not that of `version` any more; the same
   * content again changes nothing. What `get` returns is taken too, with what is to change: of that, only the content counts.
   */
  replace(id: string, schedule: EditedSchedule): Promise<ScheduleView>;
  pause(id: string, body?: PauseScheduleBody): Promise<ScheduleView>;
  /** Instants during the pause are not fired. It fires with the key of the caller from here on. */
  resume(id: string): Promise<ScheduleView>;
  /** Fires now, also while it is paused and whatever is under way. */
  trigger(id: string, body?: TriggerScheduleBody, options?: { traceparent?: string }): Promise<Firing>;
  /** Requests that it has fired go on. Returns it as it was. */
  delete(id: string): Promise<ScheduleView>;
}
