/** The numbers beside the places of the navigation: what waits for a person.
 *  It must never read more than the first page of a list. */
import { useRead } from '../data/queries.ts';
import type { DeadLetterPage } from '../../src/contract/directive/dead-letter.ts';
import type { RequestListing } from '../../src/contract/request/request-listing.ts';
import { countText } from '../data/shown.ts';

const EVERY_MS = 5_000;

export interface PlaceCount {
  readonly text: string;
  readonly needsPerson: boolean;
}

/** Counts, by the address of their place. */
export function useCounts(isOn: boolean): Readonly<Record<string, PlaceCount>> {
  const options = { everyMs: EVERY_MS, enabled: isOn };
  const dead = useRead<DeadLetterPage>('/v1/dead-letters?limit=1', options);
  const requests = useRead<RequestListing>('/v1/requests?limit=1', options);
  const waiting = requests.data?.counts.status.waiting ?? 0;
  const letters = dead.data?.total ?? 0;
  return {
    ...(waiting > 0 && { '/approvals': { text: countText(waiting), needsPerson: true } }),
    ...(letters > 0 && { '/dead-letters': { text: countText(letters), needsPerson: false } }),
  };
}
