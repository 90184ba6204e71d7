// A schedule as it was shown, with the changes of its editor, as the content that replaces it. Never passes on a member
// that neither the content nor the view has, nor unchecked content.
import { fieldPath } from '../json/field-path.ts';
import { refusedAt } from '../json/field-error.ts';
import { findJsonHazard } from '../json/json-guard.ts';
import { isObject } from '../json/json-object.ts';
import { replaceScheduleBodySchema, type ScheduleClient, scheduleViewSchema } from './schedule.ts';

const CONTENT: ReadonlySet<string> = new Set(Object.keys(replaceScheduleBodySchema.shape));

/** Only the service writes them; `template` is the content in another form. */
const ONLY_SHOWN: ReadonlySet<string> = new Set(
  Object.keys(scheduleViewSchema.shape).filter((name) => !CONTENT.has(name)),
);

/** Shown as null where they are absent. */
const NULL_AS_ABSENT: ReadonlySet<string> = new Set([
  'cron',
  'time_zone',
  'every_ms',
  'starts_at',
  'ends_at',
]);

/** Members of the submitted content. */
const TEMPLATE: ReadonlySet<string> = new Set(['directives', 'run']);

/** Client that accepts a schedule in the form of its view, and converts it before the content is validated. */
export function takingShown(schedules: ScheduleClient): ScheduleClient {
  return { ...schedules, replace: async (id, body) => schedules.replace(id, contentOf(id, body) as never) };
}

/**
 * Content of a schedule that is given as content or as view. Throws the refusal of a value that is not a JSON object.
 */
export function contentOf(id: string, body: unknown): unknown {
  if (!isObject(body) || findJsonHazard(body) !== null) return body;
  if (body['id'] !== undefined && body['id'] !== id) throw refused('id', OTHER_ID);
  const content = Object.entries(body).filter(
    ([name, value]) => !ONLY_SHOWN.has(name) && !(value === null && NULL_AS_ABSENT.has(name)),
  );
  return Object.fromEntries([...content, ...templateOf(body)]);
}

const OTHER_ID = 'must be that of the schedule which is replaced, or absent';

function templateOf({ template, ...beside }: Record<string, unknown>): [string, unknown][] {
  if (template === undefined) return [];
  if (!isObject(template)) throw refused('template', 'must be an object with directives or run');
  const members = Object.entries(template);
  for (const [name] of members) {
    if (!TEMPLATE.has(name)) throw refused(fieldPath(['template', name]), 'is not a known key');
    if (beside[name] !== undefined) throw refused(name, 'must be absent beside template');
  }
  return members;
}

function refused(path: string, message: string) {
  return refusedAt('invalid_body', [{ path, message }]);
}
