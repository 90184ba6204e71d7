/** `adjutant payload`: the whole payload of a successful directive, also when its signal holds only the beginning.
 *  It must never leave out a part of it. */
import { encryptedKeyId, encryptedNote } from '../../contract/encrypted/encrypted.ts';
import { EXIT, type ExitCode } from '../failure.ts';
import type { CommandLine, Invocation } from '../invocation.ts';
import { plainJson, printable, type Terminal } from '../terminal.ts';

export function addPayload({ program, withClient }: CommandLine): void {
  program
    .command('payload <request> <directive>')
    .description('print the whole answer of a directive whose signal holds only the beginning')
    .action(async (request: string, directive: string) =>
      withClient(async (invocation) => payload(invocation, request, directive)),
    );
}

async function payload(
  { client, terminal, json }: Invocation,
  requestId: string,
  directiveId: string,
): Promise<ExitCode> {
  const whole = await client.payload(requestId, directiveId);
  if (json) terminal.out(JSON.stringify(whole));
  else printPayload(terminal, whole);
  return EXIT.done;
}

/** Text and JSON as lines; files and programs get the text unchanged. */
export function printPayload(terminal: Terminal, whole: unknown): void {
  terminal.out(terminal.liveOut ? payloadText(whole) : payloadText(whole, unchanged));
}

interface ContentItem {
  readonly type: string;
  readonly text?: string;
}

/** Text stays text, cleaned for a terminal by default; everything else becomes indented JSON. */
export function payloadText(payload: unknown, clean: (text: string) => string = printable): string {
  if (typeof payload === 'string') return clean(payload);
  const keyId = clean === unchanged ? null : encryptedKeyId(payload);
  if (keyId !== null) return clean(encryptedNote(keyId));
  const items = contentOf(payload);
  if (items !== null && items.every(isText)) return clean(items.map(({ text }) => text).join('\n'));
  return plainJson(payload, 2);
}

/** Files and programs get the text unchanged. */
function unchanged(text: string): string {
  return text;
}

function contentOf(payload: unknown): readonly ContentItem[] | null {
  const content =
    typeof payload === 'object' && payload !== null && 'content' in payload ? payload.content : payload;
  return Array.isArray(content) && content.length > 0 && content.every(isItem) ? content : null;
}

function isItem(value: unknown): value is ContentItem {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';
}

function isText(item: ContentItem): boolean {
  return item.type === 'text' && typeof item.text === 'string';
}
