/** /v1/schedules: makes, lists, replaces, pauses, resumes, triggers and deletes schedules.
 *  It must never fire an instant itself. */
import * as z from 'zod';
import type { DirectiveClient } from '../../contract/directive-client.ts';
import {
  createScheduleBodySchema,
  type EditedSchedule,
  firingSchema,
  type PauseScheduleBody,
  pauseScheduleBodySchema,
  putScheduleBodySchema,
  scheduleIdSchema,
  scheduleListingSchema,
  scheduleViewSchema,
  type SubmittedSchedule,
  type TriggerScheduleBody,
  triggerScheduleBodySchema,
} from '../../contract/schedule.ts';
import type { App } from '../app.ts';
import { schedulePath } from '../../contract/api-path.ts';
import { problems } from '../openapi.ts';
import { noQuery, traceHeaders, traceOf, wholeNumber } from '../request-input.ts';

const tags = ['schedules'];
const params = z.strictObject({ schedule_id: scheduleIdSchema });
const one = { tags, params, querystring: noQuery };

const createSchema = {
  operationId: 'createSchedule',
  summary: 'Make a schedule',
  description:
    'It submits `directives` or starts `run` at each instant of `cron` or `every_ms`, each time as a request of its own, ' +
    '`schedule.<id>.<instant>`. It fires with the key of the caller. The same id with the same content is the same schedule.',
  tags,
  querystring: noQuery,
  body: createScheduleBodySchema,
  response: { 201: scheduleViewSchema.describe('The schedule is durable.'), ...problems(409, 413, 415, 429) },
};

const listSchema = {
  operationId: 'listSchedules',
  summary: 'List schedules by their ids',
  tags,
  querystring: z.strictObject({
    after: scheduleIdSchema.optional().describe('The `next` of the page before.'),
    limit: wholeNumber(1, 1_000, 'How many a page holds at most. Default: 100.').optional(),
  }),
  response: { 200: scheduleListingSchema, ...problems() },
};

const getSchema = {
  operationId: 'getSchedule',
  summary: 'One schedule: what it submits, when it fires next, and what became of its last instants',
  ...one,
  response: { 200: scheduleViewSchema, ...problems(404) },
};

const replaceSchema = {
  operationId: 'replaceSchedule',
  summary: 'Replace when it fires and what it submits',
  description:
    'The whole content, with the `version` that it replaces: 409 `version_conflict` where somebody was faster. History and pause stay, and ' +
    'what is being fired is fired as it was. What `GET` shows is taken too, with what is to change. Another `cron`, zone or `every_ms` counts from here on; it fires with the key of the caller.',
  ...one,
  body: putScheduleBodySchema,
  response: { 200: scheduleViewSchema, ...problems(404, 409, 413, 415, 429) },
};

const pauseSchema = {
  operationId: 'pauseSchedule',
  summary: 'Fire nothing until it is resumed',
  description: 'What it has fired goes on. Instants of the pause are not fired later.',
  ...one,
  body: pauseScheduleBodySchema,
  response: { 200: scheduleViewSchema, ...problems(404, 413, 415) },
};

const resumeSchema = {
  operationId: 'resumeSchedule',
  summary: 'Fire again, from the next instant on',
  description: 'From here on it fires with the key of the caller.',
  ...one,
  response: { 200: scheduleViewSchema, ...problems(404) },
};

const triggerSchema = {
  operationId: 'triggerSchedule',
  summary: 'Fire now, beside its instants',
  description:
    'Also while it is paused, and whatever is under way. The same `key` is the same firing, while its request is there.',
  ...one,
  headers: traceHeaders,
  body: triggerScheduleBodySchema,
  response: {
    202: firingSchema.describe('What it submits was accepted.'),
    ...problems(404, 409, 413, 415, 429),
  },
};

const deleteSchema = {
  operationId: 'deleteSchedule',
  summary: 'Delete a schedule and its history',
  description: 'Requests that it has fired go on.',
  ...one,
  response: { 200: scheduleViewSchema.describe('The schedule as it was.'), ...problems(404) },
};

/** The client validates the bodies and names their faults. */
export function scheduleRoutes(app: App, { schedules }: Pick<DirectiveClient, 'schedules'>): void {
  app.post('/v1/schedules', { schema: createSchema }, async ({ body }, reply) => {
    const made = await schedules.create(body as SubmittedSchedule);
    return reply.code(201).header('location', schedulePath(made.id)).send(made);
  });
  app.get('/v1/schedules', { schema: listSchema }, async ({ query }) => schedules.list(query));
  app.get('/v1/schedules/:schedule_id', { schema: getSchema }, async ({ params: { schedule_id: id } }) =>
    schedules.get(id),
  );
  app.put('/v1/schedules/:schedule_id', { schema: replaceSchema }, async ({ params: given, body }) =>
    schedules.replace(given.schedule_id, body as EditedSchedule),
  );
  app.post('/v1/schedules/:schedule_id/pause', { schema: pauseSchema }, async ({ params: given, body }) =>
    schedules.pause(given.schedule_id, (body ?? {}) as PauseScheduleBody),
  );
  app.post('/v1/schedules/:schedule_id/resume', { schema: resumeSchema }, async ({ params: given }) =>
    schedules.resume(given.schedule_id),
  );
  app.post(
    '/v1/schedules/:schedule_id/trigger',
    { schema: triggerSchema },
    async ({ params: given, body, headers }, reply) => {
      const trigger = (body ?? {}) as TriggerScheduleBody;
      return reply
        .code(202)
        .send(await schedules.trigger(given.schedule_id, trigger, traceOf(headers.traceparent)));
    },
  );
  app.delete('/v1/schedules/:schedule_id', { schema: deleteSchema }, async ({ params: given }) =>
    schedules.delete(given.schedule_id),
  );
}
