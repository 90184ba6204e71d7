/** The content of a schedule as a form has it, and as the API takes it. Never drops a member that the form does not show. */
import type { ScheduleView } from '../../../src/contract/schedule/schedule.ts';
import { UNIT_MS } from '../../../src/contract/length-of-time.ts';
import { readObject, textOf } from '../../data/typed-json.ts';

export interface ContentTexts {
  readonly id: string;
  readonly when: 'cron' | 'every';
  readonly cron: string;
  readonly zone: string;
  readonly every: string;
  readonly overlap: string;
  readonly what: 'run' | 'json';
  readonly agent: string;
  readonly query: string;
  /** JSON: `{"directives": [...]}` or `{"run": {...}}`. */
  readonly template: string;
  readonly jitter: string;
  readonly catchUp: string;
  readonly starts: string;
  readonly ends: string;
}

const NEW_TEMPLATE = { directives: [{ type: 'tool_exec', tool_name: 'server.tool', arguments: {} }] };

export const NEW_CONTENT: ContentTexts = {
  id: '',
  when: 'cron',
  cron: '0 7 * * *',
  zone: '',
  every: '1h',
  overlap: 'skip',
  what: 'run',
  agent: '',
  query: '',
  template: JSON.stringify(NEW_TEMPLATE, null, 2),
  jitter: '',
  catchUp: '',
  starts: '',
  ends: '',
};

export function contentOf(schedule: ScheduleView): ContentTexts {
  const { run } = schedule.template;
  const isPlainRun =
    run !== undefined && Object.keys(run).every((name) => name === 'agent' || name === 'query');
  return {
    id: schedule.id,
    when: schedule.cron === null ? 'every' : 'cron',
    cron: schedule.cron ?? NEW_CONTENT.cron,
    zone: schedule.cron === null || schedule.time_zone === 'UTC' ? '' : (schedule.time_zone ?? ''),
    every: schedule.every_ms === null ? NEW_CONTENT.every : exactLength(schedule.every_ms),
    overlap: schedule.overlap,
    what: isPlainRun ? 'run' : 'json',
    agent: isPlainRun ? textOf(run['agent']) : '',
    query: isPlainRun ? textOf(run['query']) : '',
    template: JSON.stringify(schedule.template, null, 2),
    jitter: schedule.jitter_ms === 0 ? '' : exactLength(schedule.jitter_ms),
    catchUp: exactLength(schedule.catch_up_ms),
    starts: schedule.starts_at ?? '',
    ends: schedule.ends_at ?? '',
  };
}

/** In the largest unit that divides it. */
function exactLength(ms: number): string {
  const unit = (['d', 'h', 'm', 's'] as const).find((name) => ms % (UNIT_MS[name] ?? 1) === 0);
  return unit === undefined ? `${ms}ms` : `${ms / (UNIT_MS[unit] ?? 1)}${unit}`;
}

export type ReadContent = { readonly body: Record<string, unknown> } | { readonly fault: string };

/** The content without its id; text that is no length of time is named. */
export function readContent(texts: ContentTexts): ReadContent {
  const lengths = { every: texts.every, jitter: texts.jitter, catchUp: texts.catchUp };
  const used = Object.entries(lengths).filter(
    ([name, text]) => text.trim() !== '' && (name !== 'every' || texts.when === 'every'),
  );
  const wrong = used.find(([, text]) => lengthMs(text) === null);
  if (wrong !== undefined) return { fault: `"${wrong[1]}" is no length of time: write 90s, 15m, 6h or 1d.` };
  const template = templateOf(texts);
  if ('fault' in template) return { fault: `The content ${template.fault}` };
  const timing =
    texts.when === 'cron'
      ? { cron: texts.cron.trim(), ...given('time_zone', texts.zone) }
      : { every_ms: lengthMs(texts.every) };
  return {
    body: {
      ...timing,
      overlap: texts.overlap,
      ...lengthMember('jitter_ms', texts.jitter),
      ...lengthMember('catch_up_ms', texts.catchUp),
      ...given('starts_at', texts.starts),
      ...given('ends_at', texts.ends),
      ...template.value,
    },
  };
}

function templateOf({ what, agent, query, template }: ContentTexts): ReturnType<typeof readObject> {
  if (what === 'run') return { value: { run: { agent: agent.trim(), query } } };
  return readObject(template);
}

const given = (name: string, text: string) => (text.trim() === '' ? {} : { [name]: text.trim() });
const lengthMember = (name: string, text: string) => (text.trim() === '' ? {} : { [name]: lengthMs(text) });

const LENGTH = /^(?<count>\d{1,12}(?:\.\d{1,3})?)(?<unit>ms|[smhd])$/;

/** null: the text is no length of time. */
function lengthMs(text: string): number | null {
  const { count, unit = '' } = LENGTH.exec(text.trim())?.groups ?? {};
  return count === undefined ? null : Math.round(Number(count) * (UNIT_MS[unit] ?? 1));
}
