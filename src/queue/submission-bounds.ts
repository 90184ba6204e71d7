// What a submission may not pass: the size of a member, the farthest instant; and what it adds to what waits.
// Must never count what is open: that is asked of Redis.
import { UNKNOWN_END_NOTICES } from '../contract/end-notices.ts';
import { refusedAt } from '../contract/field-sentence.ts';
import { tenantOf } from '../contract/tenant.ts';
import { type Directive, DIRECTIVE_TYPES } from '../contract/directive.ts';
import { isTooFar, type LaterFields } from '../contract/later.ts';
import { DirectiveRefused, type FieldError, problem } from '../contract/problem.ts';
import type { Begins } from '../journal/tenant-room.ts';
import { onEndErrors, onEndOf } from './notice.ts';
import { isLaterOn, type Prepared } from './prepare.ts';

export function beginsOf(prepared: readonly Prepared[]): Begins {
  return new Map(
    prepared.flatMap(({ acceptance: { id, later } }) => (later?.when ? [[id, later.when] as const] : [])),
  );
}

/** How many directives each lane would get; '' stands for those that are answered at once, or begin later. */
export function additionsOf(prepared: readonly Prepared[]): Map<string, number> {
  const additions = new Map<string, number>();
  for (const each of prepared) {
    const lane = isLaterOn(each) ? '' : (each.acceptance.lane ?? '');
    additions.set(lane, (additions.get(lane) ?? 0) + 1);
  }
  return additions;
}

export function requireNear(directives: readonly Directive[]): void {
  const now = Date.now();
  const errors = directives.flatMap((directive, position) => {
    if (!DIRECTIVE_TYPES.includes(directive.type) || !isTooFar(directive as LaterFields, now)) return [];
    const path = directives.length === 1 ? 'run_at' : `directives[${position}].run_at`;
    return [{ path, message: 'must be within 365 days from now' }];
  });
  if (errors.length > 0) throw new DirectiveRefused(problem('invalid_body', { errors }));
}

/** Whom callers name to be notified. */
export function requireReceivers(directives: readonly Directive[], endNotices = UNKNOWN_END_NOTICES): void {
  const errors = directives.flatMap((directive, position) => {
    const path = directives.length === 1 ? 'on_end' : `directives[${position}].on_end`;
    const tenant = tenantOf(directive.request_id);
    return onEndErrors(endNotices, onEndOf(directive), { tenant, path });
  });
  if (errors.length > 0) throw refusedAt('invalid_body', errors);
}

/** The envelope holds these members: where it fits, they do. */
export function requireBounded(
  directives: readonly Directive[],
  prepared: readonly Prepared[],
  limit: number,
): void {
  const errors = directives.flatMap((directive, position) => {
    if ((prepared[position]?.acceptance.envelope.length ?? 0) * 3 <= limit) return [];
    const before = directives.length === 1 ? '' : `directives[${position}].`;
    return oversized(directive, limit).map((error) => ({ ...error, path: `${before}${error.path}` }));
  });
  if (errors.length > 0) throw new DirectiveRefused(problem('invalid_body', { errors }));
}

function oversized(directive: Directive, limit: number): FieldError[] {
  return Object.entries(directive).flatMap(([path, value]: [string, unknown]) => {
    const bytes = value === undefined ? 0 : Buffer.byteLength(JSON.stringify(value));
    return bytes > limit ? [{ path, message: `has ${bytes} bytes as JSON, the limit is ${limit}` }] : [];
  });
}
