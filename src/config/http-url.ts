// The address of another service, as the configuration has it.
// Must never be one schema for several keys: each has a note of its own.
import * as z from 'zod';

export const httpUrl = () => z.url({ protocol: /^https?$/, error: 'must be an http or https URL' });
