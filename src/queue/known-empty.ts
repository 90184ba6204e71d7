// Whether a lane is known to be empty, so that BullMQ's worker, which asks again at once, needs no answer of Redis.
// Must never say so after a marker was seen.
import type { ScriptReply } from '../store/scripts.ts';

export type KnownEmpty = ReturnType<typeof createKnownEmpty>;

/**
 * Whether the last take left nothing behind: BullMQ's worker asks for another job at once, and is answered from here. What is
 * added later sets the marker or is handed over, so it is right until a marker was seen, also for takes that were asked before and answer after.
 */
export function createKnownEmpty() {
  let dueAt: number | null = null;
  /** The same, however often it was said. */
  let last: number | null = null;
  let seen = 0;
  return {
    /** When the next delayed job is due, 0 = there is none; null: it is not known that nothing waits. Said once. */
    take(): number | null {
      const said = dueAt;
      dueAt = null;
      return said;
    },
    /** Before a script is asked; its result takes the reply and returns it. */
    asked() {
      const before = seen;
      return (reply: ScriptReply): ScriptReply => {
        const left = reply[0] === 'job' && before === seen ? Number(reply[7]) : -1;
        dueAt = left < 0 ? null : left;
        last = reply[0] === 'none' && before === seen ? Number(reply[1]) : dueAt;
        return reply;
      };
    },
    /** A job was handed over: nothing else has come. */
    sayAgain: (): void => void (dueAt = last),
    /** A marker was seen: something was added. */
    forget(): void {
      seen += 1;
      dueAt = null;
      last = null;
    },
  };
}
