// The consumers of a worker's lanes, and whether they take jobs at all: an operator may drain the worker.
// Must never let the end of a lane's pause undo a drain.
import type { LaneConsumer } from '../queue/consume.ts';

export function createLaneConsumers(onError: (error: Error) => void) {
  const consumers: LaneConsumer[] = [];
  let draining = false;

  function gated(consumer: LaneConsumer): LaneConsumer {
    const resume = (): void => {
      if (!draining) consumer.resume();
    };
    return { ...consumer, resume };
  }

  return {
    async start(opened: readonly LaneConsumer[]): Promise<void> {
      consumers.push(...opened.map(gated));
      await Promise.all(consumers.map((each) => each.start()));
      if (draining) for (const each of consumers) each.pause().catch(onError);
    },
    of: (lane: string): LaneConsumer | undefined => consumers.find((each) => each.lane === lane),
    isDraining: (): boolean => draining,
    /** Takes nothing more until it is taken back; what was taken goes on. */
    setDraining(on: boolean): void {
      if (on === draining) return;
      draining = on;
      for (const each of consumers) {
        if (on) each.pause().catch(onError);
        else each.resume();
      }
    },
    async stop(): Promise<void> {
      await Promise.all(consumers.map((each) => each.stop()));
    },
  };
}
