/** A request's address as a log may show it: the values of its query can be secrets that a caller put in the wrong place.
 *  It must never change what the caller is answered. */

const QUERY = /\?\S+/g;
const VALUE = /(?<=[?&])(?<name>[^=&]*=)?[^&]*/g;

/** An address, or a text that repeats one, without the values of its query. */
export function withoutQueryValues(text: string): string {
  return text.replaceAll(QUERY, (query) => query.replaceAll(VALUE, '$<name>…'));
}
