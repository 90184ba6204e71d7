/** Durations, instants, counts and ids as the console shows them.
 *  It must never round a small thing to nothing. */

/** `1.2 s`, `4 m 12 s`, `3 d 4 h`. */
export function durationText(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 60_000) return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`;
  const seconds = Math.floor(ms / 1_000);
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} m ${seconds % 60} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 1_440) return `${Math.floor(minutes / 60)} h ${minutes % 60} m`;
  return `${Math.floor(minutes / 1_440)} d ${Math.floor(minutes / 60) % 24} h`;
}

const FORMATS = {
  local: formatsIn(undefined),
  utc: formatsIn('UTC'),
};

function formatsIn(timeZone: string | undefined) {
  const zone = timeZone === undefined ? {} : { timeZone };
  const two = '2-digit';
  return {
    clock: new Intl.DateTimeFormat('en-GB', { hour: two, minute: two, second: two, ...zone }),
    precise: new Intl.DateTimeFormat('en-GB', {
      hour: two,
      minute: two,
      second: two,
      fractionalSecondDigits: 3,
      ...zone,
    }),
    day: new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', ...zone }),
    date: new Intl.DateTimeFormat('en-CA', { ...zone }),
  };
}

let shownIn: keyof typeof FORMATS = 'local';

/** `utc`: instants are shown in UTC, with a Z; any other text: in the time zone of the browser. */
export function showInZone(zone: string): void {
  shownIn = zone === 'utc' ? 'utc' : 'local';
}

/** The time in the chosen zone; with the day unless it is today. */
export function clockText(instant: string, now: number = Date.now()): string {
  const at = new Date(instant);
  if (Number.isNaN(at.getTime())) return instant;
  const { clock, day, date } = FORMATS[shownIn];
  const time = `${clock.format(at)}${shownIn === 'utc' ? 'Z' : ''}`;
  return date.format(at) === date.format(now) ? time : `${day.format(at)} ${time}`;
}

/** The time with milliseconds in the chosen zone, without the day. */
export function preciseClockText(instant: string): string {
  const at = new Date(instant);
  if (Number.isNaN(at.getTime())) return instant;
  return `${FORMATS[shownIn].precise.format(at)}${shownIn === 'utc' ? 'Z' : ''}`;
}

export function instantTitle(instant: string): string {
  const at = new Date(instant);
  if (Number.isNaN(at.getTime())) return instant;
  return `${at.toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'long' })} · ${instant}`;
}

/** An id that is too long loses its middle. */
export function shortId(id: string, most = 18): string {
  if (id.length <= most) return id;
  const head = Math.ceil((most - 1) / 2);
  return `${id.slice(0, head)}…${id.slice(head + 1 - most)}`;
}

/** `1,234`; from 10,000 on `12 k`. */
export function countText(count: number): string {
  if (count < 10_000) return count.toLocaleString('en-GB');
  if (count < 1_000_000) return `${Math.floor(count / 1_000)} k`;
  return `${(count / 1_000_000).toFixed(1)} M`;
}

/** `$0.0412`: with the first three digits that count. */
export function moneyText(dollars: number): string {
  if (dollars === 0) return '$0';
  const places = dollars >= 1 ? 2 : Math.min(6, 2 - Math.floor(Math.log10(dollars)));
  return `$${dollars.toFixed(Math.max(2, places))}`;
}

export function bytesText(bytes: number): string {
  if (bytes < 1_024) return `${bytes} B`;
  if (bytes < 1_048_576) return `${(bytes / 1_024).toFixed(1)} KiB`;
  return `${(bytes / 1_048_576).toFixed(1)} MiB`;
}
