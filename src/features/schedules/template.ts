// The submission of a schedule: read once when it is created, and completed for each instant. The same instant submits
// the same content under the same ids in every process.
import {
  type ParseOptions,
  parseSubmission,
  type SubmittedDirective,
} from '../../contract/directive/directive.ts';
import { fieldErrors, refusedAt } from '../../contract/json/field-error.ts';
import { onceOf, type OnceFields } from '../../contract/directive/once.ts';
import { startRunBodySchema, type SubmittedRun } from '../../contract/run/run.ts';
import { FIRING_PREFIX, type ParsedSchedule, type ScheduleView } from '../../contract/schedule/schedule.ts';
import { ownId } from '../../contract/access/tenant.ts';
import { instantName } from './instants.ts';
import type { Schedule } from './schedule-record.ts';
import { templateOf } from './schedule-view.ts';

const MOST_BYTES = 64 * 1_024;

export type Template = ScheduleView['template'];

/** As it is stored: directives with their ids, defaults left out. Throws the refusal. */
export function readTemplate({ directives, run }: ParsedSchedule, parsing: ParseOptions): Template {
  const template = run === undefined ? { directives: named(directives ?? []) } : { run };
  const bytes = Buffer.byteLength(JSON.stringify(template));
  const where = run === undefined ? 'directives' : 'run';
  if (bytes > MOST_BYTES)
    throw refused(where, `has ${bytes} bytes as JSON, the limit of a schedule is ${MOST_BYTES}`);
  if (run !== undefined) checkRun(run);
  else checkDirectives(template.directives ?? [], parsing);
  return template;
}

type Directives = NonNullable<Template['directives']>;

/** Those without an id are numbered. */
function named(directives: Directives): Directives {
  return directives.map((directive, at) => ({ id: `d${at + 1}`, ...directive }));
}

function checkDirectives(directives: Directives, parsing: ParseOptions): void {
  const at = directives.findIndex((directive) => directive['request_id'] !== undefined);
  if (at !== -1) throw refused(`directives[${at}].request_id`, NO_REQUEST);
  const ids = new Set(directives.map(({ id }) => id));
  if (ids.size < directives.length) throw refused('directives', 'must have different ids');
  const read = parseSubmission({ directives }, parsing);
  if (!read.ok) throw refusedAt('invalid_body', read.errors);
}

function checkRun(run: NonNullable<Template['run']>): void {
  if (run['request_id'] !== undefined) throw refused('run.request_id', NO_REQUEST);
  if (run['encrypted'] !== undefined) throw refused('run.encrypted', NO_ENCRYPTION);
  const read = startRunBodySchema.safeParse(run);
  if (!read.success) throw refusedAt('invalid_body', fieldErrors(read.error, 'run'));
}

const NO_ENCRYPTION = 'must be absent: what is encrypted is bound to its id, and each firing has another one';
const NO_REQUEST = 'must be absent: each firing is a request of its own';

function refused(path: string, message: string) {
  return refusedAt('invalid_body', [{ path, message }]);
}

/** Id of the request within its tenant. It depends on schedule and instant alone, so that a repeat finds it. */
export function requestOf({ id }: Pick<Schedule, 'id'>, instant: number): string {
  return `${FIRING_PREFIX}${ownId(id)}.${instantName(instant)}`;
}

export function triggeredRequestOf({ id }: Pick<Schedule, 'id'>, key: string): string {
  return `${FIRING_PREFIX}${ownId(id)}.trigger.${key}`;
}

export type Submitted =
  | {
      readonly kind: 'directives';
      readonly directives: SubmittedDirective[];
      /** Names the firing where the service chooses the request: the template has a key. */
      readonly idempotencyKey?: string;
    }
  | { readonly kind: 'run'; readonly run: SubmittedRun; readonly idempotencyKey?: string };

/** Content of one firing. `metadata.schedule` names it. */
export function submittedAs(schedule: Schedule, requestId: string): Submitted {
  const { directives = [], run } = templateOf(schedule);
  const note = { schedule: ownId(schedule.id) };
  const complete = (each: Record<string, unknown>) => ({
    ...each,
    request_id: requestId,
    metadata: { ...(each['metadata'] as object | undefined), ...note },
  });
  if (run !== undefined) return submittedRun(complete(run));
  const completed = directives.map(complete);
  const [only] = completed;
  if (only === undefined || onceOf(only as OnceFields) === null)
    return { kind: 'directives', directives: completed as unknown as SubmittedDirective[] };
  const { request_id: idempotencyKey, ...underKey } = only;
  return { kind: 'directives', directives: [underKey as unknown as SubmittedDirective], idempotencyKey };
}

function submittedRun(completed: Record<string, unknown> & { request_id: string }): Submitted {
  const { request_id: idempotencyKey, ...underKey } = completed;
  return onceOf(completed as OnceFields) === null
    ? { kind: 'run', run: completed as unknown as SubmittedRun }
    : { kind: 'run', run: underKey as unknown as SubmittedRun, idempotencyKey };
}
