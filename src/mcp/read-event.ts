/** Rewrites a server-sent event so that the protocol's own reader understands the message in it.
 *  It must never change an event that is fine, or that is no message. */
import { readMessages, startsAsMessage } from './read-message.ts';

type Bytes = Buffer<ArrayBuffer>;

const CARRIAGE_RETURN = 0x0d;
const DATA = /^data(?:: ?|$)/;

/** The event itself when nothing is wrong with it. `onBroken`: its message is not JSON. */
export function readEvent(event: Bytes, onBroken: (text: string) => void): Bytes {
  // A reader waits at a carriage return: a line feed may follow.
  const plain = event.includes(CARRIAGE_RETURN) ? withLineFeeds(event) : event;
  const lines = plain
    .toString('utf8')
    .replace(/^\u{feff}/u, '')
    .split('\n');
  const data = lines.filter((line) => DATA.test(line)).map((line) => line.replace(DATA, ''));
  if (data.length === 0 || lines.some(isOtherType)) return plain;
  const text = data.join('\n');
  const read = readMessages(text);
  if (read === null && startsAsMessage(text)) onBroken(text);
  if (read === null || read.isSound || read.messages.length === 0) return plain;
  const others = lines.filter((line) => line !== '' && !DATA.test(line)).map((line) => `${line}\n`);
  const events = read.messages.map((message) => `${others.join('')}data: ${JSON.stringify(message)}\n\n`);
  return Buffer.from(events.join(''));
}

function withLineFeeds(event: Bytes): Bytes {
  return Buffer.from(event.toString('utf8').replaceAll(/\r\n?/g, '\n'));
}

/** An event of the transport itself, such as the endpoint of the older one. */
function isOtherType(line: string): boolean {
  return line.startsWith('event:') && !['', 'message'].includes(line.slice('event:'.length).trim());
}
