/** Copies a text.
 *  It must never say that it did when the browser refused. */
import { Button } from './button.tsx';
import { Icon } from './icon.tsx';
import { toast } from './toast.ts';

export function CopyButton({ text, what }: { text: string; what: string }) {
  return (
    <Button look="ghost" aria-label={`Copy ${what}`} onClick={() => void copy(text, what)}>
      <Icon name="copy" />
    </Button>
  );
}

/** The clipboard is there on loopback and https alone. */
export async function copy(text: string, what: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    toast(`Copied: ${what}`);
  } catch {
    toast('This browser does not let the page copy here; select the text and copy it.');
  }
}
