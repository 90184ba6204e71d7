// Notes when keys were used, at most once a minute each.
// Must never hold up a request, nor fail one.
import type { KeyRecords } from './key-records.ts';

const EACH_MS = 60_000;

export function createKeyUses(
  records: Pick<KeyRecords, 'noteUse'>,
  onError: (error: Error) => void,
  now: () => number = Date.now,
): (id: string) => void {
  const notedAt = new Map<string, number>();
  return (id) => {
    const at = now();
    if (at - (notedAt.get(id) ?? -Infinity) < EACH_MS) return;
    // Only ids of keys that there are come here; revoked ones are forgotten with the rest now and then.
    if (notedAt.size >= 2_000) notedAt.clear();
    notedAt.set(id, at);
    records.noteUse(id, at).catch(onError);
  };
}
