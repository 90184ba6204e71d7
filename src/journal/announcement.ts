// What is announced of an appended signal, and how it is read.
// Must never be taken for the log: an announcement can be lost.

/** One appended signal. `json` is empty when it was too large to announce. */
export interface Announcement {
  sequence: number;
  /** Nothing follows until the request is opened again. */
  closed: boolean;
  json: string;
}

/** Receives announcements; null means "some may have been lost, read the log". */
export type Listener = (announcement: Announcement | null) => void;

/** `<sequence> <c|o> <json>`, from `start` on. */
export function readAnnouncement(message: string, start = 0): Announcement {
  const space = message.indexOf(' ', start);
  return {
    sequence: Number(message.slice(start, space)),
    closed: message[space + 1] === 'c',
    json: message.slice(space + 3),
  };
}

/** Some may have been lost. */
export function notifyGap(listeners: Iterable<Listener>): void {
  for (const listener of listeners) listener(null);
}
