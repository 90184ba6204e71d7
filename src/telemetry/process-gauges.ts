// What a process knows of itself: the delay and the load of its event loop, its memory.
// Must never keep the process alive.
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import type { GaugeSource } from './gauges.ts';

const NANOSECONDS = 1e9;
/** How often the delay is measured, milliseconds. Each measurement costs a timer. */
const RESOLUTION_MS = 20;

export interface ProcessGauges {
  readonly read: GaugeSource;
  stop(): void;
}

/** The delay is that beyond the timer's own time, since the last reading. */
export function watchProcess(): ProcessGauges {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delay.enable();
  let load = performance.eventLoopUtilization();
  const seconds = (nanoseconds: number): number =>
    Math.max(0, nanoseconds / NANOSECONDS - RESOLUTION_MS / 1_000);
  return {
    read() {
      const since = performance.eventLoopUtilization(load);
      load = performance.eventLoopUtilization();
      const readings = [
        { metric: 'loopDelayP99', value: seconds(delay.percentile(99)) },
        { metric: 'loopDelayMax', value: seconds(delay.max) },
        { metric: 'loopUtilization', value: since.utilization },
        { metric: 'memory', value: process.memoryUsage.rss() },
      ] as const;
      delay.reset();
      return readings;
    },
    stop: () => void delay.disable(),
  };
}
