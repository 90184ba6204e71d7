// One page of requests of several tenants, the newest first, made of a page of each.
// Never passes the place at which the search of one of them stopped.
import { scopedId } from '../../contract/access/tenant.ts';
import type { ListedRequest, ListPlace } from '../../contract/request/request-listing.ts';

/** Page of one tenant. `early`: the search stopped because of its bounds. */
export interface Found {
  requests: ListedRequest[];
  next: ListPlace | null;
  early: boolean;
  /** Where a sorted search stopped because of its bounds; null: it saw all. Absent: it is not sorted. */
  stoppedAt?: ListPlace | null;
}

export type FoundOfTenant = Found & { readonly tenant: string };

/** Position of a request among those of all tenants, the newest first. */
interface PlaceOfAll {
  readonly createdAt: number;
  /** Scoped. */
  readonly id: string;
}

function isBefore(left: PlaceOfAll, right: PlaceOfAll): number {
  return right.createdAt - left.createdAt || (left.id > right.id ? -1 : 1);
}

/** One page of the requests of several tenants. */
export function merged(found: readonly FoundOfTenant[], most: number): Found {
  const stops = found
    .flatMap(({ tenant, next, early }) =>
      next === null ? [] : [{ createdAt: next.createdAt, id: scopedId(tenant, next.id), early }],
    )
    .toSorted(isBefore);
  const [horizon] = stops;
  const rows = found
    .flatMap(({ tenant, requests }) =>
      requests.map((row) => ({
        row: { ...row, tenant },
        createdAt: Date.parse(row.created_at),
        id: scopedId(tenant, row.request_id),
      })),
    )
    .toSorted(isBefore);
  const sure =
    horizon === undefined
      ? rows
      : rows.filter((each) => isBefore(each, horizon) < 0 || each.id === horizon.id);
  const page = sure.slice(0, most);
  const isCut = page.length < sure.length || page.length === most;
  const last = page.at(-1);
  const more = page.length < rows.length || horizon !== undefined;
  const next = !more ? null : isCut && last !== undefined ? last : (horizon ?? null);
  return {
    requests: page.map(({ row }) => row),
    next: next === null ? null : { createdAt: next.createdAt, id: next.id },
    early: !isCut && horizon?.early === true,
  };
}
