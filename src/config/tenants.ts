// The tenants of the installation: what each may have open, hold and submit.
// Must never loosen what holds for the whole installation.
import * as z from 'zod';
import { TENANT_FORM } from '../contract/access/tenant-name.ts';
import { type LimitsOfTenant, limitsByName, OTHER_TENANTS } from '../contract/access/tenant-limits.ts';
import { durationMs } from './lane.ts';
import { byName } from './names.ts';
import { notes } from './notes.ts';

const count = z.int().min(1).max(1_000_000_000);
const NO_LIMIT = 'no limit of its own';

const tenantSectionSchema = z.strictObject({
  max_open: count.optional().register(notes, {
    description:
      'Directives and runs that its callers have submitted and that have not ended; more are refused with 429.',
    unit: 'directives',
    fallback: NO_LIMIT,
  }),
  request_bytes: z.int().min(65_536).optional().register(notes, {
    description: 'As `limits.request_bytes` for its requests, and never more than that.',
    unit: 'bytes',
    fallback: '`limits.request_bytes`',
  }),
  stored_bytes: z.int().min(65_536).max(Number.MAX_SAFE_INTEGER).optional().register(notes, {
    description:
      'What all its requests together hold: arguments, results, signals. Above it submissions are refused with 429 until retention frees some; what runs goes on.',
    unit: 'bytes',
    fallback: NO_LIMIT,
  }),
  closed_ms: durationMs.optional().register(notes, {
    description: 'As `retention.closed_ms` for its requests, conversations and dead letters.',
    unit: 'ms',
    fallback: '`retention.closed_ms`',
  }),
  per_minute: count.optional().register(notes, {
    description:
      'Directives, runs and inputs that all its keys and tokens together submit in a minute; more are refused with 429.',
    fallback: NO_LIMIT,
  }),
  per_day: count.optional().register(notes, {
    description: 'The same in a day, of UTC.',
    fallback: NO_LIMIT,
  }),
});

const nameSchema = z
  .string()
  .regex(/^(?:\*|[a-z0-9][a-z0-9-]{0,31})$/, `must be ${TENANT_FORM}; or "${OTHER_TENANTS}" for all others`);

export const tenantSections = {
  tenants: byName(nameSchema, tenantSectionSchema).prefault({}).register(notes, {
    description: 'Tenants by name, with their limits. Tokens may name these only; a key may name others too.',
    special: '`*` = the limits of every tenant that is not named, but `default`',
    fallback: 'only `default`, and those of keys, without limits of their own',
  }),
};

type Tenants = z.output<typeof tenantSections.tenants>;

/** Tenants whose bytes would not be counted. */
export function uncountedTenants(sections: { search: { enabled: boolean }; tenants: Tenants }): string[] {
  if (sections.search.enabled) return [];
  return [...sections.tenants].flatMap(([name, section]) =>
    section.stored_bytes === undefined ? [] : [name],
  );
}

export function tenantLimits(tenants: Tenants): LimitsOfTenant {
  return limitsByName(
    new Map(
      [...tenants].map(([name, section]) => {
        const { max_open: maxOpen, request_bytes: requestBytes, closed_ms: closedMs } = section;
        const { stored_bytes: storedBytes, per_minute: perMinute, per_day: perDay } = section;
        return [name, { maxOpen, requestBytes, storedBytes, closedMs, perMinute, perDay }];
      }),
    ),
  );
}
