// Says in a few lines that a provider of models is out of reach: as it begins, once a minute, and as it ends.
// Must never speak of MCP servers: their connections do.
import { modelLane } from '../contract/model/model-name.ts';
import type { Logger } from '../platform/telemetry/logger.ts';
import { createOutage, type Outage, secondsOf } from '../platform/telemetry/outage.ts';

const MODEL_LANES = modelLane('');

/** `note` takes what a circuit breaker says: the lane stops for `pauseMs`, or goes on (null). */
export function createReachLog(logger: Logger, now?: () => number) {
  const outages = new Map<string, Outage>();

  function note(lane: string, pauseMs: number | null): void {
    if (!lane.startsWith(MODEL_LANES)) return;
    const provider = lane.slice(MODEL_LANES.length);
    const outage = outages.get(lane) ?? createOutage(now);
    outages.set(lane, outage);
    const news = pauseMs === null ? outage.works() : outage.failed();
    if (news?.kind === 'began')
      logger.warn(
        { provider },
        'the model provider is out of reach: calls go on to their next model, or wait',
      );
    if (news?.kind === 'lasts')
      logger.warn({ provider, for_s: secondsOf(news.forMs) }, 'the model provider is still out of reach');
    if (news?.kind === 'ended')
      logger.warn({ provider, after_s: secondsOf(news.afterMs) }, 'the model provider is in reach again');
  }

  return { note };
}
