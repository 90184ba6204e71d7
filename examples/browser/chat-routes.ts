/** Routes of a chat for `useChat` of the AI SDK, as Next.js has them: `app/api/chat/route.ts` and `app/api/chat/[id]/stream/route.ts`.
 *  The key stays here. The page has `useChat({ id, resume: true })`, and shows its answer after a reload or a crash of this server. */
import { createChatTransport } from '@adjutant/client/ai-sdk';
import { createHttpClient } from 'adjutant/client';
import { createUIMessageStreamResponse, type UIMessage } from 'ai';

const { ADJUTANT_URL = 'http://127.0.0.1:7420', ADJUTANT_API_KEY, AGENT = 'default' } = process.env;
const client = createHttpClient({
  baseUrl: ADJUTANT_URL,
  ...(ADJUTANT_API_KEY === undefined ? {} : { apiKey: ADJUTANT_API_KEY }),
});

// In memory here; a table of the program, where it must outlive the server.
const runs = new Map<string, string>();
const storage = {
  getItem: (chat: string) => runs.get(chat) ?? null,
  setItem: (chat: string, run: string) => void runs.set(chat, run),
};
const transport = createChatTransport({ client, agent: AGENT, storage });

interface Sent {
  readonly id: string;
  readonly messages: UIMessage[];
  readonly trigger: 'submit-message' | 'regenerate-message';
}

/** Starts the run that answers the newest message. */
export async function POST(request: Request): Promise<Response> {
  const { id, messages, trigger } = (await request.json()) as Sent;
  // An application refuses here a chat of another user: the model would get its history.
  const chat = { chatId: id, messages, trigger, abortSignal: request.signal };
  return createUIMessageStreamResponse({ stream: await transport.sendMessages(chat) });
}

/** The answer under way, from its beginning. */
export async function GET(
  request: Request,
  { params }: { params: Promise<{ id: string }> },
): Promise<Response> {
  const { id } = await params;
  // And here, as the answer would be another user's.
  const stream = await transport.reconnectToStream({ chatId: id, abortSignal: request.signal });
  return stream === null ? new Response(null, { status: 204 }) : createUIMessageStreamResponse({ stream });
}
