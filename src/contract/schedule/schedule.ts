// A schedule on the wire: when it fires, what it submits each time, what became of it.
// Must never hold a decision of when to fire: those are in `src/features/schedules`.
import * as z from 'zod';
import { anyTenantSchema, listedTenant, TENANT_IN_LIST } from '../access/tenant-name.ts';
import { identifierSchema, instantSchema, jsonObjectSchema } from '../identifiers.ts';

const count = z.int().min(0);

const LONGEST_EVERY_MS = 366 * 86_400_000;
const LONGEST_JITTER_MS = 3_600_000;
const LONGEST_CATCH_UP_MS = 365 * 86_400_000;
/** Minimum interval of a schedule, in milliseconds. */
export const SHORTEST_EVERY_MS = 1_000;

/** Prefix of the ids of requests that schedules submit; no other request has it. */
export const FIRING_PREFIX = 'schedule.';

/** Shorter than other ids: those of the requests begin with it. */
export const scheduleIdSchema = z
  .string()
  .regex(/^[A-Za-z0-9._:-]{1,64}$/, '1 to 64 characters of A-Z a-z 0-9 . _ : -');

/** Schema of the key of a firing. */
export const firingKeySchema = z
  .string()
  .regex(/^[A-Za-z0-9._:-]{1,40}$/, '1 to 40 characters of A-Z a-z 0-9 . _ : -');

/** Handling of an instant while a request of an earlier firing is open. */
export const OVERLAPS = ['skip', 'queue_one', 'allow', 'cancel_running'] as const;
/** Handling of an instant while a request of an earlier firing is open. */
export type Overlap = (typeof OVERLAPS)[number];

const noteSchema = z
  .string()
  .regex(/^[^\p{Cc}\p{Cs}\p{Zl}\p{Zp}]{1,256}$/u, '1 to 256 characters, no control characters');

const timing = {
  cron: z
    .string()
    .min(1)
    .max(128)
    .optional()
    .describe(
      'Cron expression of five fields, or six with seconds first. Either `cron` or `every_ms` is required.',
    ),
  time_zone: z
    .string()
    .regex(/^[A-Za-z0-9_+/-]{1,64}$/, 'the name of a time zone, as in Europe/Berlin')
    .optional()
    .describe('IANA name of the time zone of `cron`. Default: UTC.'),
  every_ms: z
    .int()
    .min(SHORTEST_EVERY_MS)
    .max(LONGEST_EVERY_MS)
    .multipleOf(1_000)
    .optional()
    .describe(
      'Interval in milliseconds, whole seconds, counted from `starts_at` or the creation. Excludes `cron`.',
    ),
  jitter_ms: z
    .int()
    .min(0)
    .max(LONGEST_JITTER_MS)
    .default(0)
    .describe(
      'Maximum random delay of a firing, in milliseconds; the same for an instant in every process. Default: 0.',
    ),
  starts_at: instantSchema
    .optional()
    .describe('Instant (UTC) before which the schedule does not fire. Default: now.'),
  ends_at: instantSchema
    .optional()
    .describe('Instant (UTC) after which the schedule does not fire. Default: none.'),
  overlap: z
    .enum(OVERLAPS)
    .default('skip')
    .describe(
      'Handling of an instant while a request of an earlier firing is open: `skip`, `queue_one`, `allow` or `cancel_running`. Default: `skip`.',
    ),
  catch_up_ms: z
    .int()
    .min(1_000)
    .max(LONGEST_CATCH_UP_MS)
    .optional()
    .describe(
      'Maximum delay of a firing after an outage, in milliseconds; shorter than `retention.closed_ms`. Default: one hour, at most half of `retention.closed_ms`.',
    ),
};

/** Content of each firing: directives or a run, without a `request_id`. */
const template = {
  directives: z
    .array(jsonObjectSchema)
    .min(1)
    .max(1_000)
    .optional()
    .describe(
      'Directives that each firing submits, as in `POST /v1/directives`, without ids of requests. Either `directives` or `run` is required.',
    ),
  run: jsonObjectSchema
    .optional()
    .describe('Run that each firing starts, as in `POST /v1/requests`, without the id of a request.'),
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

/** Schema of the content of a schedule. */
export const createScheduleBodySchema = z
  .strictObject({ id: scheduleIdSchema.describe('Id of the schedule.'), ...contentSchema.shape })
  .superRefine(checkContent);

/** The whole content: what is left out has its default, whatever it was before. */
export const replaceScheduleBodySchema = z
  .strictObject({
    version: z
      .string()
      .min(1)
      .max(64)
      .describe(
        'Version of the content to replace, as it was read. A newer version is answered with `version_conflict`.',
      ),
    ...contentSchema.shape,
  })
  .superRefine(checkContent);

/** Schedule as a caller writes it; members with a default may be absent. */
export type SubmittedSchedule = z.input<typeof createScheduleBodySchema>;
/** Content of a schedule with every default filled in. */
export type ParsedSchedule = z.output<typeof createScheduleBodySchema>;
/** Content that replaces a schedule. */
export type ReplacedSchedule = z.input<typeof replaceScheduleBodySchema>;

/** Schema of the body that pauses a schedule. */
export const pauseScheduleBodySchema = z
  .strictObject({ note: noteSchema.optional().describe('Note about the pause, at most 256 characters.') })
  .prefault({});
/** Schema of the body that triggers a schedule. */
export const triggerScheduleBodySchema = z
  .strictObject({
    key: firingKeySchema
      .optional()
      .describe('Key of the firing; the same key is the same firing. Default: generated.'),
  })
  .prefault({});

/** Body that pauses a schedule. */
export type PauseScheduleBody = z.input<typeof pauseScheduleBodySchema>;
/** Body that triggers a schedule. */
export type TriggerScheduleBody = z.input<typeof triggerScheduleBodySchema>;

/** Outcomes of a firing. */
export const FIRING_OUTCOMES = ['fired', 'triggered', 'skipped', 'failed', 'missed'] as const;
/** Outcome of a firing. */
export type FiringOutcome = (typeof FIRING_OUTCOMES)[number];

/** Schema of a firing. */
export const firingSchema = z.object({
  scheduled_at: instantSchema.describe(
    'Instant (UTC) of the schedule, without jitter; for `missed` the first of the missed instants.',
  ),
  at: instantSchema.describe('Instant (UTC) at which the firing was recorded.'),
  outcome: z
    .enum(FIRING_OUTCOMES)
    .describe(
      'Outcome. `fired`: the submission was accepted. `triggered`: fired on request. `skipped`: as `overlap` requires. `failed`: the submission was refused. `missed`: no process fired it within `catch_up_ms`.',
    ),
  reason: z.string().nullable().describe('Reason of an outcome other than `fired`; null: none.'),
  request_id: identifierSchema.nullable().describe('Id of the submitted request; null: none.'),
  instants: count.describe('Number of missed instants; 1 for every other outcome.'),
  until: instantSchema
    .nullable()
    .describe('Last of the missed instants (UTC); null for every other outcome.'),
  links: z
    .object({ request: z.string().describe('Path of the request.') })
    .nullable()
    .describe('Paths of related resources; null: no request was submitted.'),
});

/** Firing of a schedule. */
export type Firing = z.infer<typeof firingSchema>;

/** Statuses of a schedule. */
export const SCHEDULE_STATUSES = ['active', 'paused', 'ended'] as const;

/** Schema of a schedule in a list. */
export const listedScheduleSchema = z.object({
  tenant: listedTenant,
  id: scheduleIdSchema.describe('Id of the schedule.'),
  status: z
    .enum(SCHEDULE_STATUSES)
    .describe('Status of the schedule. `ended`: no instant follows; the schedule is removed a week later.'),
  cron: z.string().nullable().describe('Cron expression; null: the schedule has an interval.'),
  time_zone: z
    .string()
    .nullable()
    .describe('IANA name of the time zone of `cron`; null: the schedule has an interval.'),
  every_ms: count.nullable().describe('Interval in milliseconds; null: the schedule has a cron expression.'),
  jitter_ms: count.describe('Maximum random delay of a firing, in milliseconds.'),
  starts_at: instantSchema
    .nullable()
    .describe('Instant (UTC) before which the schedule does not fire; null: none.'),
  ends_at: instantSchema
    .nullable()
    .describe('Instant (UTC) after which the schedule does not fire; null: none.'),
  overlap: z.enum(OVERLAPS).describe('Handling of an instant while a request of an earlier firing is open.'),
  catch_up_ms: count.describe('Maximum delay of a firing after an outage, in milliseconds.'),
  fires: z.enum(['directives', 'run']).describe('Kind of submission.'),
  next_at: instantSchema.nullable().describe('Next instant (UTC), without jitter; null: paused, or ended.'),
  queued_at: instantSchema
    .nullable()
    .describe('Instant (UTC) that waits for the end of the previous request, with `queue_one`; null: none.'),
  created_at: instantSchema.describe('Instant (UTC) of the creation.'),
  edited_at: instantSchema
    .nullable()
    .describe('Instant (UTC) of the last change of the content; null: unchanged since the creation.'),
  version: z
    .string()
    .describe(
      'Version of the content; each change of the content creates another one, pauses and firings do not.',
    ),
  fires_as: z
    .string()
    .nullable()
    .describe('Name of the key whose rights the firings have; null: keys were not required.'),
  paused: z
    .object({
      at: instantSchema.describe('Instant (UTC) of the pause.'),
      by: z
        .string()
        .nullable()
        .describe(
          'Name of the key that paused it; null: keys were not required, or the service paused it for the reason in `note`.',
        ),
      note: z.string().nullable().describe('Note about the pause; null: none.'),
    })
    .nullable()
    .describe('Pause of the schedule; null: not paused.'),
  waiting: z
    .object({
      since: instantSchema.describe('Instant (UTC) of the first refusal.'),
      reason: z.string().describe('Reason of the last refusal.'),
    })
    .nullable()
    .describe('Postponed instant, which is retried until `catch_up_ms` has passed; null: none.'),
  counts: z
    .object({
      fired: count.describe('Number of instants that were fired.'),
      triggered: count.describe('Number of firings on request.'),
      skipped: count.describe('Number of instants skipped because of `overlap`.'),
      failed: count.describe('Number of instants whose submission was refused.'),
      missed: count.describe('Number of instants that were missed.'),
    })
    .describe('Number of firings by outcome.'),
  failures_in_a_row: count.describe('Number of consecutive failures.'),
  last: firingSchema.nullable().describe('Last firing; null: none.'),
});

/** Schema of a page of schedules. */
export const scheduleListingSchema = z.object({
  schedules: z.array(listedScheduleSchema).describe('Schedules of this page.'),
  next: z.string().nullable().describe('The `after` of the next page; null: this page is the last one.'),
});

/** Schema of the view of a schedule. */
export const scheduleViewSchema = z.object({
  ...listedScheduleSchema.shape,
  template: z
    .object({
      directives: z.array(jsonObjectSchema).optional().describe('Directives that each firing submits.'),
      run: jsonObjectSchema.optional().describe('Run that each firing starts.'),
    })
    .describe('Submission of each firing.'),
  history: z.array(firingSchema).describe('Last 100 firings, newest first.'),
});

/** Members of the query for schedules but for its limit. */
export const schedulePlace = {
  after: z
    .string()
    .regex(/^(?:[a-z0-9-]{1,32}~)?[A-Za-z0-9._:-]{1,64}$/, 'must be the `next` of a page, or an id')
    .optional()
    .describe('The `next` of the previous page: lists schedules after this id.'),
  tenant: anyTenantSchema.optional().describe(TENANT_IN_LIST),
};

/** Schema of the query for schedules. */
export const scheduleQuerySchema = z.strictObject({
  ...schedulePlace,
  limit: z.int().min(1).max(1_000).optional().describe('Maximum number of schedules of a page, 1 to 1,000.'),
});

/**
 * Schema of the body that replaces a schedule: its content, or its view with changes. null counts as absent, and
 * members that only the service writes are ignored.
 */
export const putScheduleBodySchema = z.union([
  replaceScheduleBodySchema,
  z.strictObject({ ...scheduleViewSchema.partial().shape, version: replaceScheduleBodySchema.shape.version }),
]);

/** Schedule as it was read, with changes, for `replace`. */
export type EditedSchedule = z.input<typeof putScheduleBodySchema>;

/** Schedule in a list. */
export type ListedSchedule = z.infer<typeof listedScheduleSchema>;
/** Page of schedules, in the order of their ids. */
export type ScheduleListing = z.infer<typeof scheduleListingSchema>;
/** View of a schedule. */
export type ScheduleView = z.infer<typeof scheduleViewSchema>;
/** Query for schedules. */
export type ScheduleQuery = z.input<typeof scheduleQuerySchema>;

/** Client for schedules. A call for an unknown schedule is refused with `not_found`. */
export interface ScheduleClient {
  /** The same id with the same content is the same schedule; another content is refused with `id_conflict`. */
  create(schedule: SubmittedSchedule): Promise<ScheduleView>;
  /** One page of schedules, in the order of their ids. */
  list(query?: ScheduleQuery): Promise<ScheduleListing>;
  /** View of a schedule with its last 100 firings. */
  get(id: string): Promise<ScheduleView>;
  /**
   * Replaces when it fires and what it submits; its history and a pause stay. What is being fired is fired as it was. From here on it
   * fires with the key of the caller. Refused with `version_conflict` where the content is not that of `version` any more; the same
   * content again changes nothing. What `get` returns is taken too, with what is to change: of that, only the content counts.
   */
  replace(id: string, schedule: EditedSchedule): Promise<ScheduleView>;
  /** Stops the firing until `resume`. */
  pause(id: string, body?: PauseScheduleBody): Promise<ScheduleView>;
  /** Instants during the pause are not fired. It fires with the key of the caller from here on. */
  resume(id: string): Promise<ScheduleView>;
  /** Fires now, also while the schedule is paused or a request is open. */
  trigger(id: string, body?: TriggerScheduleBody, options?: { traceparent?: string }): Promise<Firing>;
  /** Deletes the schedule and returns its last view. Its requests continue. */
  delete(id: string): Promise<ScheduleView>;
}
