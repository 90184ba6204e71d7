// Runs the gates of lanes in a process, whatever its roles. Never decides the order.
import type { Startable } from '../platform/lifecycle.ts';
import type { GateNews } from '../queue/gate-news.ts';
import { createGatePump } from '../queue/gate-pump.ts';
import { createGateTending } from '../queue/gate-tending.ts';
import type { Store } from './store.ts';

export interface GateSettings {
  /** Gate changes of the process, shared by its stores. */
  news: GateNews;
  onError: (error: Error) => void;
}

export function gatesOn({ queue, records }: Store, { news, onError }: GateSettings): Startable {
  const tend = createGateTending({ ...queue, ...records });
  return createGatePump({ gate: queue.gated.gate, tend, news, onError });
}
