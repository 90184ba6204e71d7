/** What the list of requests promises: a row of each, as the request itself says.
 *  It must never share code with what it checks. */
import { TERMINAL_TYPES, type WireListedRequest, type WireRequest, type WireSignal } from './wire.ts';

/** The errors of so many directives are in a row. */
const MOST_ERRORS = 16;

/** Sentences about one closed request; null: the list has no row of it. */
export function listViolationsOf(
  view: WireRequest,
  signals: readonly WireSignal[],
  row: WireListedRequest | null,
): string[] {
  if (row === null) return ['it is not in the list of requests'];
  const wanted = {
    status: statusOf(view, signals),
    directives: view.directives.length,
    open: 0,
    closed_at: view.closed_at,
    types: sorted(view.directives.map(({ type }) => type)),
    waiting_for: '',
  };
  const shown = { ...row, types: sorted(row.types), waiting_for: sorted(row.waiting_for) };
  const keys = Object.keys(wanted) as (keyof typeof wanted)[];
  const wrong = keys.filter((key) => wanted[key] !== shown[key]);
  return [
    ...wrong.map((key) => `the list says ${key} ${shown[key]} instead of ${wanted[key]}`),
    ...errorViolations(view, signals, row),
  ];
}

function errorViolations(
  view: WireRequest,
  signals: readonly WireSignal[],
  { error_types: shown }: WireListedRequest,
): string[] {
  const ends = errorsOf(view, signals);
  const types = new Set([...ends, ...(view.run?.error?.type === undefined ? [] : [view.run.error.type])]);
  const missing = ends.length > MOST_ERRORS ? [] : [...types].filter((type) => !shown.includes(type));
  const strange = shown.filter((type) => !types.has(type));
  return [
    ...missing.map((type) => `the list lacks its error ${type}`),
    ...strange.map((type) => `the list says that it had the error ${type}`),
  ];
}

function statusOf(view: WireRequest, signals: readonly WireSignal[]): string {
  const { run } = view;
  if (run !== undefined) {
    if (run.status === 'completed') return 'succeeded';
    return run.status === 'cancelled' ? 'cancelled' : 'failed';
  }
  const errors = errorsOf(view, signals);
  if (errors.some((type) => type !== 'cancelled')) return 'failed';
  return errors.length > 0 ? 'cancelled' : 'succeeded';
}

/** What reports an error of somebody else, and was asked to, has not failed. */
function errorsOf({ directives }: WireRequest, signals: readonly WireSignal[]): string[] {
  const failed = new Set(directives.filter(({ status }) => status === 'failed').map(({ id }) => id));
  return signals.flatMap(({ type, causationid = '', data: { result } }) =>
    TERMINAL_TYPES.has(type) && failed.has(causationid) && result?.ok === false ? [result.error.type] : [],
  );
}

function sorted(names: readonly string[]): string {
  return [...new Set(names)].toSorted().join(' ');
}

/** The ids of the list beside those of the journal: the same, and each once. */
export function listDifferences(listed: readonly string[], there: ReadonlySet<string>): string[] {
  const shown = new Set(listed);
  const twice = listed.length - shown.size;
  return [
    ...[...there]
      .filter((id) => !shown.has(id))
      .map((id) => `${id} is in the journal and not in the list of requests`),
    ...[...shown]
      .filter((id) => !there.has(id))
      .map((id) => `${id} is in the list of requests and not in the journal`),
    ...(twice === 0 ? [] : [`the list of requests shows ${twice} twice`]),
  ];
}
