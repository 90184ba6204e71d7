/** Copies a text.
 *  It must never say that it did when the browser refused. */
import { Button } from './button.tsx';
import { Icon } from './icon.tsx';
import { toast } from './toast.ts';

/** `text`: a function where the text is made when it is copied. */
export function CopyButton({ text, what }: { text: string | (() => string); what: string }) {
  return (
    <Button
      look="ghost"
      aria-label={`Copy ${what}`}
      onClick={() => void copy(typeof text === 'string' ? text : text(), what)}
    >
      <Icon name="copy" />
    </Button>
  );
}

/** Browsers have a clipboard on loopback and https alone. */
export async function copy(text: string, what: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    toast(`Copied: ${what}`);
  } catch {
    toast('This browser does not let the page copy here; select the text and copy it.');
  }
}
