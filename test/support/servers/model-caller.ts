/** A process that calls the models of one provider: reads `<verb> <model>` on stdin, prints how each call ends.
 *  It must never end by itself: if it is gone, the provider brought it down. */
import { createInterface } from 'node:readline';
import { call, errorIn, providersAt, type Api } from '../model-calls.ts';

const [, , url = '', api = ''] = process.argv;
const providers = providersAt(url, api as Api);

createInterface({ input: process.stdin }).on('line', (line) => {
  const [type = '', model = ''] = line.split(' ');
  void answer(type as 'llm_stream', model);
});

async function answer(type: 'llm_stream' | 'llm_generate' | 'llm_embed', model: string): Promise<void> {
  const asked = type === 'llm_embed' ? { texts: ['a', 'b'] } : {};
  const context = { models: [`p:${model}`] };
  const result = await call({ type, ...asked }, { providers, context });
  const { execution } = result;
  const end = execution.result.ok ? 'answered' : errorIn(result);
  console.log(JSON.stringify({ type, model, end }));
}
