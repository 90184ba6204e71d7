/** Reads what waits for a person, again and again while the page is seen.
 *  It must never read more pages than a person works through. */
import { useQuery } from '@tanstack/react-query';
import type { ApprovalListing, OpenApproval } from '../../../src/contract/run/approval-listing.ts';
import { call, isListOff } from '../../data/api.ts';
import { LIST_OFF_MS } from '../../data/queries.ts';
import { inTenant } from '../../data/tenant.ts';
import { inOrder } from './inbox.ts';

const EVERY_MS = 2_000;
const MOST_PAGES = 4;

export interface Inbox {
  readonly items: readonly OpenApproval[];
  /** There are more than were read. */
  readonly more: boolean;
  /** The list is being built: some that wait may be missing. */
  readonly incomplete: boolean;
}

export function useInbox() {
  return useQuery<Inbox>({
    queryKey: ['api', 'inbox', inTenant('/v1/approvals')],
    queryFn: ({ signal }) => readInbox(signal),
    refetchInterval: ({ state: { error } }) => (isListOff(error) ? LIST_OFF_MS : EVERY_MS),
  });
}

async function readInbox(signal: AbortSignal): Promise<Inbox> {
  const pages: ApprovalListing[] = [];
  let cursor: string | null = null;
  do {
    const query: string = cursor === null ? '' : `?cursor=${encodeURIComponent(cursor)}`;
    const page: ApprovalListing = await call<ApprovalListing>('GET', `/v1/approvals${query}`, { signal });
    pages.push(page);
    cursor = page.next;
  } while (cursor !== null && pages.length < MOST_PAGES);
  const more = cursor !== null || pages.some(({ omitted }) => omitted > 0);
  return { items: inOrder(pages), more, incomplete: pages.some(({ incomplete }) => incomplete === true) };
}
