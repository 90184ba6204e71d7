/** The text for a model or an agent: an argument, or stdin.
 *  It must never be empty. */
import { text } from 'node:stream/consumers';
import { usage } from './failure.ts';

/** `-` reads stdin. */
export async function promptOf(given: string): Promise<string> {
  const prompt = given === '-' ? await text(process.stdin) : given;
  if (prompt.trim() !== '') return prompt;
  throw usage('The prompt is empty.', 'Give it in quotes, or - for stdin.');
}
