/** A peer: a handler of one or of three durable steps, called over HTTP, whose answer is its end. */
import type { Target, Transport } from '../transport.ts';

export function openPeer({ baseUrl }: Target, handler: 'one' | 'three'): Transport {
  return {
    operation: async () => {
      const answer = await fetch(`${baseUrl}/noop/${handler}`, { method: 'POST' });
      const body = await answer.text();
      if (body !== '"done"') throw new Error(`${answer.status}: ${body}`);
    },
    close: async () => {},
  };
}
