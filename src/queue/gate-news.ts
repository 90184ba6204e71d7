// The local knowledge of a process about the gates of lanes: those in use, and the next due time of each. A hint only:
// another process may know more, and each gate is checked every second.

import type { Gate } from '../store/limits/gate.ts';

export type GateNews = ReturnType<typeof createGateNews>;

export function createGateNews() {
  let listed = new Set<string>();
  let hear: (lane: string, dueMs: number) => void = () => {};
  return {
    /** Something has waited in its gate of late. */
    isGated: (lane: string): boolean => listed.has(lane),
    add: (lane: string): void => void listed.add(lane),
    replace: (lanes: readonly string[]): void => void (listed = new Set(lanes)),
    lanes: (): ReadonlySet<string> => listed,
    due: (lane: string, dueMs: number): void => hear(lane, dueMs),
    /** From now on `heard` is called when a directive is due. */
    onDue(heard: typeof hear): void {
      hear = heard;
    },
  };
}

/** A gate in use is noted this often at most by one process. */
const NOTE_EVERY_MS = 10_000;
const MOST_NOTED = 1_000;

/** Returns at once. Where a note is lost, the sweeper comes upon what waits there. */
export function createGateNotes(gate: Pick<Gate, 'lanes'>, news: GateNews): (lane: string) => void {
  const notedAt = new Map<string, number>();
  return (lane) => {
    const at = performance.now();
    if (at - (notedAt.get(lane) ?? -Infinity) < NOTE_EVERY_MS) return;
    if (notedAt.size > MOST_NOTED) notedAt.clear();
    notedAt.set(lane, at);
    news.add(lane);
    gate.lanes(lane).catch(() => notedAt.delete(lane));
  };
}
