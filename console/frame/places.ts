/** The places of the navigation, in its order.
 *  It must never hold a page that has no address. */
import type { IconName } from '../parts/icon.tsx';

export interface Place {
  readonly to: string;
  readonly text: string;
  readonly icon: IconName;
  /** After `g`. */
  readonly key: string;
  /** In the bottom bar of a narrow window; the others are under More. */
  readonly isFirst: boolean;
}

export const PLACES: readonly Place[] = [
  { to: '/', text: 'Overview', icon: 'home', key: 'o', isFirst: true },
  { to: '/requests', text: 'Requests', icon: 'list', key: 'r', isFirst: true },
  { to: '/approvals', text: 'Approvals', icon: 'hand', key: 'a', isFirst: true },
  { to: '/dead-letters', text: 'Dead letters', icon: 'dead', key: 'd', isFirst: true },
  { to: '/statistics', text: 'Statistics', icon: 'chart', key: 'i', isFirst: false },
  { to: '/schedules', text: 'Schedules', icon: 'wait', key: 's', isFirst: false },
  { to: '/tools', text: 'Tools', icon: 'tool', key: 't', isFirst: false },
  { to: '/agents', text: 'Agents', icon: 'agent', key: 'e', isFirst: false },
];
