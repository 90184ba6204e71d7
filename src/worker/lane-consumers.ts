// The consumers of a worker's lanes, and whether they take jobs at all: an operator may drain the worker.
// Must never let the end of a lane's pause undo a drain, nor the end of a drain the pause of a lane whose server is down.
import type { LaneConsumer } from '../queue/consume.ts';

/** `isDown`: the server of the lane cannot be reached, and its lane is resumed when it can. */
export function createLaneConsumers(onError: (error: Error) => void, isDown: (lane: string) => boolean) {
  const consumers: LaneConsumer[] = [];
  let draining = false;

  function gated(consumer: LaneConsumer): LaneConsumer {
    const resume = (): void => {
      if (!draining && !isDown(consumer.lane)) consumer.resume();
    };
    return { ...consumer, resume };
  }

  return {
    async start(opened: readonly LaneConsumer[]): Promise<void> {
      consumers.push(...opened.map(gated));
      await Promise.all(consumers.map((each) => each.start()));
      for (const each of consumers) if (draining || isDown(each.lane)) each.pause().catch(onError);
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
