/** The hostile provider under chaos: the model's name selects how it misbehaves.
 *  It must never be counted: every call to it ends in an error. The argument is the port. */
import { createServer } from 'node:http';
import { HOSTILE_ANSWERS } from '../support/hostile-answers.ts';

const port = Number(process.argv[2]);
createServer((request, response) => {
  response.on('error', () => {});
  let text = '';
  request.on('data', (chunk: Buffer) => (text += chunk.toString()));
  request.on('end', () => {
    const { model = '' } = JSON.parse(text || '{}') as { model?: string };
    void HOSTILE_ANSWERS[model]?.(response);
  });
}).listen(port, '127.0.0.1', () => process.stderr.write(`listens on ${port}\n`));
