/** A tool: `open_ticket` shows a ticket, and keeps it before the model's eyes until the run ends.
 *  It must never change a ticket. */
import { defineTool, errorEnvelope, errorResult, okResult } from 'adjutant/engine';
import * as z from 'zod';

const TITLES = new Map([[7, 'The kettle does not whistle']]);

export const openTicket = defineTool({
  name: 'open_ticket',
  description: 'Opens the ticket that the work is about',
  input: z.strictObject({ id: z.int().min(1) }),
  effect: 'read',
  async execute({ id }) {
    const title = TITLES.get(id);
    if (title === undefined)
      return { result: errorResult(errorEnvelope('not_found', `there is no ticket ${id}`)) };
    const content = `The work is about ticket ${id}: ${title}.`;
    return {
      result: okResult({ id, title }),
      directives: [{ type: 'context_anchor', params: { key: 'ticket', content } }],
    };
  },
});
