/** A ReAct with a handler of its own for `phase_change`: it adds a message, and breaks in the phase `broken`.
 *  It must import what a user's module can. */
import { reactWith } from '../../../src/agents/modules/definitions.ts';

export const obeying = reactWith({
  name: 'obeying',
  handlers: {
    phase_change: (context, { params: { phase } }) => {
      if (phase === 'broken') throw new Error('no such phase');
      context.messages = [...context.messages, { role: 'user', content: `own handler: ${phase}` }];
    },
  },
});
