/** What a host tells its model of this server: our own paragraph, then what each visible server says of itself.
 *  It must never be longer than its limit, nor speak of a server that shows nothing. */
import type { ListedServer } from '../contract/tool-listing.ts';

export type Instructing = Pick<ListedServer, 'name' | 'instructions' | 'offers'>;

const OWN =
  'Each call is a durable directive: it is executed although the connection, this server or a worker dies. ' +
  'Tools that must not be repeated run at most once; an error of the type outcome_unknown says that it is not known ' +
  'whether one ran: check before you call it again.';

const MAX_BYTES = 2_048;

/** The room is shared evenly; what one server leaves, the next ones have. */
export function instructionsFor(servers: readonly Instructing[]): string {
  const speaking = servers.filter(({ instructions = '' }) => instructions !== '');
  const parts = [OWN];
  let left = MAX_BYTES - Buffer.byteLength(OWN);
  for (const [index, { name, instructions = '' }] of speaking.entries()) {
    const part = cut(
      `${name}: ${instructions}`,
      Math.floor(left / (speaking.length - index)) - SEPARATOR.length,
    );
    parts.push(part);
    left -= Buffer.byteLength(part) + SEPARATOR.length;
  }
  return parts.filter((part) => part !== '').join(SEPARATOR);
}

const SEPARATOR = '\n\n';
const CUT = ' …';
/** A shorter piece says nothing. */
const LEAST_BYTES = 40;

function cut(text: string, bytes: number): string {
  if (Buffer.byteLength(text) <= bytes) return text;
  if (bytes < LEAST_BYTES) return '';
  const kept = Buffer.from(text).subarray(0, bytes - Buffer.byteLength(CUT));
  // A character that was cut in two is left out.
  return `${new TextDecoder('utf-8', { ignoreBOM: true }).decode(kept, { stream: true })}${CUT}`;
}
