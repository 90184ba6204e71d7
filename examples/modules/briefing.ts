/** A strategy: `briefing` reads files, lets the model write about them, and posts what it wrote.
 *  It must never post anything unless every file was read. */
import { callModel, callTool, defineStrategy, readAnswer, type Step } from 'adjutant/engine';
import * as z from 'zod';

const options = z.strictObject({
  /** A tool that takes a `path`. */
  reader: z.string(),
  files: z.array(z.string()).min(1),
  /** Where the briefing goes; absent = nowhere. */
  post_to: z.url().optional(),
});

interface State {
  /** What was read, by the id of its call. */
  texts: Record<string, string>;
  written: unknown;
}

export const briefing = defineStrategy<State, z.infer<typeof options>>({
  name: 'briefing',
  options,
  init: () => ({ texts: {}, written: null }),
  reduce(state, signal, context): Step<State> {
    const { files, reader, post_to: url } = context.options;
    const idOf = (file: number): string => `file-${file}`;
    if (signal.type === 'ai.request.started') {
      return { state, directives: files.map((path, file) => callTool(idOf(file), reader, { path })) };
    }
    if (signal.type === 'ai.tool.result') {
      const { call_id: id, content: text = '', result } = signal.data;
      if (!result.ok) return { state, outcome: { status: 'failed', error: result.error } };
      const texts = { ...state.texts, [id]: text };
      if (Object.keys(texts).length < files.length) return { state: { ...state, texts } };
      const content = files.map((path, file) => `${path}:\n${texts[idOf(file)]}`).join('\n\n');
      const messages = [...context.messages, { role: 'user' as const, content }];
      const ask = callModel(context, 'write', { tool_choice: 'none' });
      return { state: { ...state, texts }, messages, directives: [ask] };
    }
    if (signal.type === 'ai.llm.response') {
      const answer = readAnswer(signal.data.result, 'write');
      if (answer.kind === 'failed') return { state, outcome: { status: 'failed', error: answer.error } };
      const written = answer.kind === 'final' ? answer.result : null;
      if (url === undefined) return { state, outcome: { status: 'completed', result: written } };
      const post = { type: 'webhook', id: 'post', url, body: { briefing: written }, max_retries: 5 };
      return { state: { ...state, written }, directives: [post] };
    }
    if (signal.type !== 'directive.result') return { state };
    const { result } = signal.data;
    if (!result.ok) return { state, outcome: { status: 'failed', error: result.error } };
    return { state, outcome: { status: 'completed', result: state.written } };
  },
});
