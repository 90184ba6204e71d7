// Where a login goes back to: a page of the console, and nothing else.
// Must never be an address elsewhere, however it is written.

const HOME = '/console/';
const LONGEST = 1_000;
/** Only its path and query are taken. */
const ANY_ORIGIN = 'http://console.invalid';

export function returnPath(given: unknown): string {
  if (typeof given !== 'string' || given.length > LONGEST || !given.startsWith(HOME)) return HOME;
  if (!URL.canParse(given, ANY_ORIGIN)) return HOME;
  // As a browser reads it: with `..` and `\` resolved, and without control characters.
  const { origin, pathname, search } = new URL(given, ANY_ORIGIN);
  const isPage = origin === ANY_ORIGIN && pathname.startsWith(HOME) && !pathname.startsWith(`${HOME}login/`);
  return isPage ? pathname + search : HOME;
}
