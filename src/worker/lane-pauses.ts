// The lanes that this worker leaves alone for a while: what they need does not answer.
// Must never take a lane for well again by itself: after its pause it only takes jobs, until it is ended.
import type { LaneConsumer } from '../queue/consume.ts';

export function createLanePauses(onError: (error: Error) => void) {
  /** undefined: until it is ended. */
  const resuming = new Map<string, NodeJS.Timeout | undefined>();

  /** Nothing is left of the lane's pause, but that its consumer may be paused still. */
  function end(lane: string): void {
    clearTimeout(resuming.get(lane));
    resuming.delete(lane);
  }

  return {
    isPaused: (lane: string): boolean => resuming.has(lane),
    end,
    /** `pauseMs`: Infinity = until it is ended. */
    begin(consumer: LaneConsumer, pauseMs: number): void {
      end(consumer.lane);
      resuming.set(
        consumer.lane,
        pauseMs === Infinity ? undefined : setTimeout(() => consumer.resume(), pauseMs),
      );
      consumer.pause().catch(onError);
    },
    /** No consumer is resumed any more. */
    stop(): void {
      for (const timer of resuming.values()) clearTimeout(timer);
    },
  };
}
