// The bounds of a submission: the size of a member, the farthest instant; and its share of the waiting work. Never
// counts open work: Redis does.
import { type EndNotices, UNKNOWN_END_NOTICES } from '../contract/signal/end-notices.ts';
import { refusedAt } from '../contract/json/field-error.ts';
import { tenantOf } from '../contract/access/tenant.ts';
import { type Directive, DIRECTIVE_TYPES } from '../contract/directive/directive.ts';
import { isTooFar, type LaterFields } from '../contract/directive/later.ts';
import type { FieldError } from '../contract/problem.ts';
import type { Begins, LeaveTenant } from '../store/limits/tenant-room.ts';
import type { Capacity } from './capacity.ts';
import { onEndErrors, onEndOf } from './sweep/notice.ts';
import { isLaterOn, type Prepared, withLane } from './prepare.ts';

export interface SubmissionBounds {
  /** Option of `SubmitterOptions`. */
  readonly argumentsBytes: number;
  readonly endNotices?: EndNotices;
}

/** Throws `DirectiveRefused`. */
export function requireWithin(
  { argumentsBytes, endNotices }: SubmissionBounds,
  directives: readonly Directive[],
  prepared: readonly Prepared[],
): void {
  requireBounded(directives, prepared, argumentsBytes);
  requireNear(directives);
  requireReceivers(directives, endNotices);
}

/** Throws, and resolves, as `Capacity` does. */
export async function reserveFor(
  capacity: Pick<Capacity, 'reserve'>,
  requestId: string,
  prepared: readonly Prepared[],
): Promise<LeaveTenant> {
  const ids = openIds(prepared);
  return capacity.reserve(additionsOf(prepared), { requestId, ids, begins: beginsOf(prepared) });
}

/** Ids of directives that stay open. */
export function openIds(prepared: readonly Prepared[]): string[] {
  return withLane(prepared).map(({ acceptance }) => acceptance.id);
}

function beginsOf(prepared: readonly Prepared[]): Begins {
  return new Map(
    prepared.flatMap(({ acceptance: { id, later } }) => (later?.when ? [[id, later.when] as const] : [])),
  );
}

/** Number of directives for each lane; '' counts those that are answered at once, or begin later. */
function additionsOf(prepared: readonly Prepared[]): Map<string, number> {
  const additions = new Map<string, number>();
  for (const each of prepared) {
    const lane = isLaterOn(each) ? '' : (each.acceptance.lane ?? '');
    additions.set(lane, (additions.get(lane) ?? 0) + 1);
  }
  return additions;
}

function requireNear(directives: readonly Directive[]): void {
  const now = Date.now();
  const errors = directives.flatMap((directive, position) => {
    if (!DIRECTIVE_TYPES.includes(directive.type) || !isTooFar(directive as LaterFields, now)) return [];
    const path = `${placeOf(directives, position)}run_at`;
    return [{ path, message: 'must be within 365 days from now' }];
  });
  if (errors.length > 0) throw refusedAt('invalid_body', errors);
}

/** Whom callers name to be notified. */
function requireReceivers(directives: readonly Directive[], endNotices = UNKNOWN_END_NOTICES): void {
  const errors = directives.flatMap((directive, position) => {
    const path = `${placeOf(directives, position)}on_end`;
    const tenant = tenantOf(directive.request_id);
    return onEndErrors(endNotices, onEndOf(directive), { tenant, path });
  });
  if (errors.length > 0) throw refusedAt('invalid_body', errors);
}

/** The envelope holds these members: where it fits, they do. */
function requireBounded(
  directives: readonly Directive[],
  prepared: readonly Prepared[],
  limit: number,
): void {
  const errors = directives.flatMap((directive, position) => {
    if ((prepared[position]?.acceptance.envelope.length ?? 0) * 3 <= limit) return [];
    const place = placeOf(directives, position);
    return oversized(directive, limit).map((error) => ({ ...error, path: `${place}${error.path}` }));
  });
  if (errors.length > 0) throw refusedAt('invalid_body', errors);
}

/** Prefix of the name of a field. */
function placeOf({ length }: readonly Directive[], position: number): string {
  return length === 1 ? '' : `directives[${position}].`;
}

function oversized(directive: Directive, limit: number): FieldError[] {
  return Object.entries(directive).flatMap(([path, value]: [string, unknown]) => {
    const bytes = value === undefined ? 0 : Buffer.byteLength(JSON.stringify(value));
    return bytes > limit ? [{ path, message: `has ${bytes} bytes as JSON, the limit is ${limit}` }] : [];
  });
}
