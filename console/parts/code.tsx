/** A block of text as it is: a command, a payload. It can be copied, and long ones are folded.
 *  It must never draw more than its first bytes unasked. */
import { useState } from 'react';
import { bytesText } from '../data/shown.ts';
import { Button } from './button.tsx';
import { CopyButton } from './copy-button.tsx';
import { Text } from './text.tsx';
import './code.css';

const FIRST_CHARACTERS = 4_096;
/** More is drawn in no case: it is there to be downloaded. */
const MOST_CHARACTERS = 262_144;
const FOLDED_LINES = 24;

export interface CodeProps {
  readonly children: string;
  /** What it is, for readers of the screen. */
  readonly label: string;
  /** Name of the file that a download makes. Default: `payload.txt`. */
  readonly fileName?: string;
}

export function Code({ children, label, fileName = 'payload.txt' }: CodeProps) {
  const [isOpen, open] = useState(false);
  const shown = shownPart(children, isOpen);
  const isCut = shown.length < children.length;
  return (
    <div className="code">
      <pre tabIndex={0} role="region" aria-label={label}>
        <Text mono>{shown}</Text>
      </pre>
      <div className="code-actions">
        {isCut && <span className="faint">{bytesText(new Blob([children]).size)} in all</span>}
        {isCut && !isOpen && (
          <Button look="ghost" onClick={() => open(true)}>
            Show more
          </Button>
        )}
        {children.length > FIRST_CHARACTERS && (
          <Button look="ghost" onClick={() => download(children, fileName)}>
            Download
          </Button>
        )}
        <CopyButton text={children} what={label} />
      </div>
    </div>
  );
}

function shownPart(text: string, isOpen: boolean): string {
  if (isOpen) return text.slice(0, MOST_CHARACTERS);
  const start = text.slice(0, FIRST_CHARACTERS);
  const lines = start.split('\n');
  return lines.length > FOLDED_LINES ? lines.slice(0, FOLDED_LINES).join('\n') : start;
}

export function download(text: string, fileName: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: 'application/octet-stream' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = fileName.replaceAll(/[^\w.-]/g, '_').slice(0, 128);
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
