// HTTP operations that submit work: directives, runs, schedules.
import * as z from 'zod';
import { schedulePath } from '../api-path.ts';
import { submissionBodySchema } from '../directive/directive.ts';
import { prioritizedSchema, priorityBodySchema } from '../directive/flow.ts';
import {
  acceptedInputSchema,
  approvalDecisionBodySchema,
  recordedDecisionSchema,
  resumedRunSchema,
  resumeRunBodySchema,
  runInputBodySchema,
  type StartedRun,
  startedRunSchema,
  startRunBodySchema,
} from '../run/run.ts';
import {
  beginStepBodySchema,
  begunStepSchema,
  closeRunBodySchema,
  endedStepSchema,
  endStepBodySchema,
  foreignRunViewSchema,
  RUN_BOUNDS,
} from '../run/foreign-run.ts';
import { bulkDecisionBodySchema, bulkDecisionSchema } from '../run/bulk-decision.ts';
import {
  createScheduleBodySchema,
  firingSchema,
  pauseScheduleBodySchema,
  putScheduleBodySchema,
  schedulePlace,
  scheduleListingSchema,
  type ScheduleView,
  scheduleViewSchema,
  triggerScheduleBodySchema,
} from '../schedule/schedule.ts';
import {
  againBodySchema,
  forkBodySchema,
  type RepeatedRequest,
  repeatedRequestSchema,
} from '../run/again.ts';
import {
  endedWorkSchema,
  endWorkBodySchema,
  heldWorkSchema,
  holdWorkBodySchema,
  takenWorkSchema,
  takeWorkBodySchema,
} from '../directive/remote-work.ts';
import { type Submission, submissionSchema } from '../directive/submission.ts';
import { inputAnswerBodySchema, recordedAnswerSchema } from '../tool/tool-question.ts';
import {
  type Operation,
  pageSize,
  submissionHeaders,
  traceHeaders,
  waitQuery,
  wholeNumber,
} from './operation.ts';

/** Operations that submit, start, decide and schedule. */
export const WORK_OPERATIONS = {
  submit: {
    tag: 'directives',
    summary: 'Submit one directive or several; all are accepted or none',
    description:
      'With `Idempotency-Key` a repeated submission is the same submission. With `wait_ms` the answer is 200 and ' +
      'holds the results when every directive ended in time, and 202 otherwise.',
    headers: submissionHeaders,
    query: waitQuery,
    body: ['submission-body', submissionBodySchema],
    answer: ['submission', submissionSchema],
    statuses: {
      202: 'Every directive is durable and will end.',
      200: 'Every directive has ended; each holds its result.',
    },
    problems: [404, 409, 413, 415, 429],
    location: ({ links }: Submission) => links.request,
  },
  prioritize: {
    tag: 'requests',
    summary: 'Change the priority of a directive that waits',
    description:
      'Each step up is a head start of 30 seconds before others with the same fairness key. 409 `not_waiting` when it runs, has ' +
      'ended, is not queued behind a limit, or a rule fixes its priority.',
    body: ['priority-body', priorityBodySchema],
    answer: ['prioritized', prioritizedSchema],
    statuses: { 200: 'It waits with this priority.' },
    problems: [404, 409, 415],
  },
  answer: {
    tag: 'directives',
    summary: 'Answer a question that a tool asks',
    description:
      'The question is in `ai.tool.input_requested`, and in `inputs` of its directive while it is open. `content` of an accepted form ' +
      'fits its schema; absent members get the defaults of the schema. The first answer counts: the same again changes nothing, ' +
      'another one is refused (409) with the name that answered.',
    body: ['input-answer-body', inputAnswerBodySchema],
    answer: ['recorded-answer', recordedAnswerSchema],
    statuses: { 200: 'The answer is durable, and goes to the tool.' },
    problems: [404, 409, 413, 415],
  },
  'runs.start': {
    tag: 'runs',
    summary: 'Start a run of an agent',
    description:
      'The answer comes when the run is durable; its signals report the progress, and `GET /v1/requests/{r}` shows it. ' +
      'The same `request_id` with the same content is the same run. With `dedupe`, `debounce` or `singleton` the answer names the run ' +
      'that represents it, and `once` has the outcome for this one; `replace` needs the scope `cancel`.',
    headers: submissionHeaders,
    body: ['start-run-body', startRunBodySchema],
    answer: ['started-run', startedRunSchema],
    statuses: { 202: 'The run is durable and will end.' },
    problems: [404, 409, 413, 415],
    location: ({ links }: StartedRun) => links.request,
  },
  again: {
    tag: 'requests',
    summary: 'Run a request again, with changes where some are given',
    description:
      'A new request with the content of the original: its run, from the messages that it began with, or one of its directives. ' +
      'Every tool acts again. `run.origin`, or `metadata.again_of` of a directive, names the original, whose view lists `descendants`. ' +
      'It belongs to no conversation, and `on_end` of the original is not taken over. ' +
      'With `Idempotency-Key` a repeat is the same request. 403 for an encrypted request, which the service cannot read, and for a key that is limited to tools, agents or models.',
    headers: submissionHeaders,
    body: ['again-body', againBodySchema],
    isBodyOptional: true,
    answer: ['repeated-request', repeatedRequestSchema],
    statuses: { 202: 'It is durable and will end.' },
    problems: [404, 409, 413, 415, 429],
    location: ({ links }: RepeatedRequest) => links.request,
  },
  fork: {
    tag: 'runs',
    summary: 'Continue a run from one of its turns, in a new request',
    description:
      'The messages before the turn are those that the original sent: no model is asked for them again, and the usage of the fork begins at 0. ' +
      'After it, tools with the effect `read` or `idempotent` are called. A call of a `once` tool that the original has made with equal arguments gets the recorded result ' +
      '(`metadata.from_record` of its signal); another one waits for the approval of a person, unless `act` is set. With `dry` no tool is called. ' +
      'The agent is the one that is configured now. Only runs of the strategy `react`; refused as `again` is.',
    headers: submissionHeaders,
    body: ['fork-body', forkBodySchema],
    answer: ['repeated-request', repeatedRequestSchema],
    statuses: { 202: 'It is durable and will end.' },
    problems: [404, 409, 413, 415, 429],
    location: ({ links }: RepeatedRequest) => links.request,
  },
  'runs.input': {
    tag: 'runs',
    summary: 'Send input to a run under way',
    description:
      'The run reads it before its next model call, in the order of arrival. The same `input_id` is the same input. ' +
      '409 once the run has taken its last input.',
    body: ['run-input-body', runInputBodySchema],
    answer: ['accepted-input', acceptedInputSchema],
    statuses: { 202: 'The input is durable and will be read.' },
    problems: [404, 409, 413, 415, 429],
  },
  'runs.resume': {
    tag: 'runs',
    summary: 'Resume a run that has failed, was cancelled, or reached a limit',
    description:
      'The same request goes on from the step that failed: calls that have succeeded are not made again, and counts and costs go on. ' +
      'With `Idempotency-Key` a repeated resume is the same one. 409 `not_resumable` while it goes on and after its final answer, ' +
      '`outcome_unknown` where `calls` names calls that may have acted: `decisions` says for each whether to repeat it, skip it or count it as done.',
    headers: submissionHeaders,
    body: ['resume-run-body', resumeRunBodySchema],
    isBodyOptional: true,
    answer: ['resumed-run', resumedRunSchema],
    statuses: { 202: 'The run goes on and will end.' },
    problems: [404, 409, 413, 415, 429],
  },
  'runs.decide': {
    tag: 'runs',
    summary: 'Approve or deny a tool call that waits for it',
    description:
      'The model reads a denied call as an error. `arguments` approves the call with these instead. ' +
      'With the id of a budget, the decision is about going on beyond it.',
    body: ['approval-decision-body', approvalDecisionBodySchema],
    answer: ['recorded-decision', recordedDecisionSchema],
    statuses: { 200: 'The decision is durable.' },
    problems: [404, 409, 413, 415],
  },
  'runs.decideAll': {
    tag: 'runs',
    summary: 'Approve or deny several tool calls that wait for it',
    description:
      'Each call is decided as if it were alone, in order; `refused` has those that do not wait, or were decided otherwise. ' +
      'A repeat of the same decision changes nothing. `GET /v1/approvals` lists what waits.',
    body: ['bulk-decision-body', bulkDecisionBodySchema],
    answer: ['bulk-decision', bulkDecisionSchema],
    statuses: { 200: 'The decisions in `decided` are durable.' },
    problems: [413, 415],
  },
  'schedules.create': {
    tag: 'schedules',
    summary: 'Make a schedule',
    description:
      'It submits `directives` or starts `run` at each instant of `cron` or `every_ms`, each time as a request of its own, ' +
      '`schedule.<id>.<instant>`. It fires with the key of the caller. The same id with the same content is the same schedule.',
    body: ['create-schedule-body', createScheduleBodySchema],
    answer: ['schedule-view', scheduleViewSchema],
    statuses: { 201: 'The schedule is durable.' },
    problems: [409, 413, 415, 429],
    location: ({ id }: ScheduleView) => schedulePath(id),
  },
  'schedules.list': {
    tag: 'schedules',
    summary: 'List schedules by their ids',
    description: 'Those of all tenants are listed tenant by tenant.',
    query: z.strictObject({
      ...schedulePlace,
      limit: pageSize(1_000, 100),
    }),
    answer: ['schedule-listing', scheduleListingSchema],
  },
  'schedules.get': {
    tag: 'schedules',
    summary: 'One schedule: its content, its next instant, and the outcomes of its last instants',
    answer: ['schedule-view', scheduleViewSchema],
    problems: [404],
  },
  'schedules.replace': {
    tag: 'schedules',
    summary: 'Replace the times and the content of a schedule',
    description:
      'The whole content, with the `version` that it replaces: 409 `version_conflict` where another call was faster. History and pause stay, and ' +
      'a firing under way is not changed. The answer of `GET` is accepted too, with its changes. Another `cron`, zone or `every_ms` counts from here on; it fires with the key of the caller.',
    body: ['replace-schedule-body', putScheduleBodySchema],
    answer: ['schedule-view', scheduleViewSchema],
    problems: [404, 409, 413, 415, 429],
  },
  'schedules.pause': {
    tag: 'schedules',
    summary: 'Fire nothing until it is resumed',
    description: 'Requests that it has fired go on. Instants of the pause are not fired later.',
    body: ['pause-schedule-body', pauseScheduleBodySchema],
    isBodyOptional: true,
    answer: ['schedule-view', scheduleViewSchema],
    problems: [404, 413, 415],
  },
  'schedules.resume': {
    tag: 'schedules',
    summary: 'Fire again, from the next instant on',
    description: 'From here on it fires with the key of the caller.',
    answer: ['schedule-view', scheduleViewSchema],
    problems: [404],
  },
  'schedules.trigger': {
    tag: 'schedules',
    summary: 'Fire now, beside its instants',
    description:
      'Also while it is paused, and while earlier requests are open. The same `key` is the same firing, while its request exists.',
    headers: traceHeaders,
    body: ['trigger-schedule-body', triggerScheduleBodySchema],
    isBodyOptional: true,
    answer: ['schedule-firing', firingSchema],
    statuses: { 202: 'Its directives or its run were accepted.' },
    problems: [404, 409, 413, 415, 429],
  },
  'schedules.delete': {
    tag: 'schedules',
    summary: 'Delete a schedule and its history',
    description: 'Requests that it has fired go on.',
    answer: ['schedule-view', scheduleViewSchema],
    statuses: { 200: 'The schedule before its deletion.' },
    problems: [404],
  },
  readRun: {
    tag: 'runs',
    summary: 'A run that another program leads',
    description:
      'The run that its caller began with a model call at `/runs/{run}/…`, a tool call at `/runs/{run}/mcp` or a step. ' +
      'A run of another key is not found. Each of its calls has a request whose id begins with `request_prefix`.',
    query: z.strictObject({
      turn: wholeNumber(
        1,
        RUN_BOUNDS.turns * 2,
        'Number of the last turn in `latest_turns`. Default: the newest.',
      ).optional(),
    }),
    answer: ['foreign-run-view', foreignRunViewSchema],
    problems: [404],
  },
  closeRun: {
    tag: 'runs',
    summary: 'Close a run that another program leads',
    description:
      'What the run has recorded is answered on until the retention ends; a new call is refused (409 `request_closed`). ' +
      'The same close again is the same; another outcome is refused.',
    body: ['close-run-body', closeRunBodySchema],
    isBodyOptional: true,
    answer: ['foreign-run-view', foreignRunViewSchema],
    problems: [404, 409, 413, 415],
  },
  beginStep: {
    tag: 'runs',
    summary: "Begin a step of a run's own program, or renew its lease",
    description:
      'With `state` `run` the caller executes the step and ends it with the token; the same token again renews the lease. A step whose ' +
      'process died is begun by the next caller, unless its effect is `once`: then its outcome is `unknown` until a caller decides.',
    body: ['begin-step-body', beginStepBodySchema],
    answer: ['begun-step', begunStepSchema],
    problems: [409, 413, 415],
  },
  endStep: {
    tag: 'runs',
    summary: "End a step of a run's own program",
    description:
      'With the token of the begin. Without a token it decides about a step of unknown outcome: `result` or `error` is recorded, and ' +
      '`again` lets it run at its next begin. The same end again is the same.',
    body: ['end-step-body', endStepBodySchema],
    answer: ['ended-step', endedStepSchema],
    problems: [404, 409, 413, 415],
  },
  takeWork: {
    tag: 'directives',
    summary: 'Take work of remote directive types',
    description:
      'For programs that execute the types of `remote_directives`. The work begins with the first hold; taken work that is not ' +
      'held within 10 s is given to another program, `once` or not. Begun work whose lease ends is given to another program, up to four ' +
      'times; `once` work then ends as `outcome_unknown`.',
    query: waitQuery,
    body: ['take-work-body', takeWorkBodySchema],
    answer: ['taken-work', takenWorkSchema],
    problems: [404, 413, 415, 429],
  },
  holdWork: {
    tag: 'directives',
    summary: 'Begin taken work, or renew its lease',
    body: ['hold-work-body', holdWorkBodySchema],
    answer: ['held-work', heldWorkSchema],
    problems: [404, 413, 415],
  },
  endWork: {
    tag: 'directives',
    summary: 'End work with its result or error',
    body: ['end-work-body', endWorkBodySchema],
    answer: ['ended-work', endedWorkSchema],
    problems: [404, 413, 415],
  },
} as const satisfies Record<string, Operation>;
