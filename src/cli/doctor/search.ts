// Says whether the list of requests is turned off.
// Must never count it as a fault: an operator may have no need of the list.
import type { Config } from '../../config/config.ts';
import { advice, type Finding } from './finding.ts';

/** Nothing where it is on. */
export function searchFindings({ search }: Pick<Config, 'search'>): Finding[] {
  if (search.enabled) return [];
  const says =
    'off: `GET /v1/requests`, bulk actions, the inbox of approvals and those pages of the console answer with `search_off`';
  return [
    advice('list of requests', says, 'If you need it, set `search.enabled` to true for every process.'),
  ];
}
