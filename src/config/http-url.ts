// The address of another service, and the origin of a page, as the configuration has them.
// Must never be one schema for several keys: each has a note of its own.
import * as z from 'zod';

export const httpUrl = () => z.url({ protocol: /^https?$/, error: 'must be an http or https URL' });

/** Whether a text is scheme, host and port alone. */
export function isOrigin(text: string): boolean {
  return URL.canParse(text) && new URL(text).origin === text;
}
