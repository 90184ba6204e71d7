/** Values by which the list of requests is ordered, and which its cursors contain. */
import type { ListedRequest, RequestQuery } from './request-listing.ts';

/** Order of the list. */
export type RequestOrder = NonNullable<RequestQuery['sort']>;

const MILLIONTHS = 1_000_000;

/** Integer by which a row is ordered, the highest first: milliseconds, or millionths of a US dollar. An open request has no duration, a run without a price no cost: 0. */
export function orderValue(
  { created_at: from, closed_at: to, cost }: ListedRequest,
  order: RequestOrder,
): number {
  if (order === 'created') return Date.parse(from);
  if (order === 'cost') return Math.round((cost ?? 0) * MILLIONTHS);
  return to === null ? 0 : Math.max(0, Date.parse(to) - Date.parse(from));
}
