// What is announced of an appended signal, and how it is read.
// Must never be taken for the log: an announcement can be lost.

/** One appended signal. `text` is as stored-signal.ts writes it, empty when it was too large to announce. */
export interface Announcement {
  sequence: number;
  /** Nothing follows until the request is opened again. */
  closed: boolean;
  text: string;
}

/**
 * Receives announcements; null means "some may have been lost, read the log". Throws for one that it cannot read, and then
 * gets null.
 */
export type Listener = (announcement: Announcement | null) => void;

/** `<sequence> <c|o> <text>`, from `start` on. Throws for anything else. */
export function readAnnouncement(message: string, start = 0): Announcement {
  const space = message.indexOf(' ', start);
  const sequence = Number(message.slice(start, space));
  const mark = message.slice(space + 1, space + 3);
  if (!(Number.isSafeInteger(sequence) && sequence > 0) || (mark !== 'c ' && mark !== 'o '))
    throw new Error('no announcement');
  return { sequence, closed: mark === 'c ', text: message.slice(space + 3) };
}

/** Some may have been lost. */
export function notifyGap(listeners: Iterable<Listener>): void {
  for (const listener of listeners) listener(null);
}
