/** A block of text, such as a command or a payload, that can be copied; long ones are folded.
 *  Never draws more than its first bytes unasked. */
import { type ReactNode, useState } from 'react';
import { bytesText } from '../data/shown.ts';
import { Button } from './button.tsx';
import { CopyButton } from './copy-button.tsx';
import { Text } from './text.tsx';
import './code.css';

const FIRST_CHARACTERS = 4_096;
/** More is never drawn: a download has it. */
const MOST_CHARACTERS = 262_144;
const FOLDED_LINES = 24;
const LONGEST_LINE = 120;

export interface CodeProps {
  readonly children: string;
  /** Name of the content for screen readers. */
  readonly label: string;
  /** Name of the file that a download makes. Default: `payload.txt`. */
  readonly fileName?: string;
}

export function Code({ children, label, fileName = 'payload.txt' }: CodeProps) {
  const [isOpen, open] = useState(false);
  const shown = shownPart(children, isOpen);
  const isCut = shown.length < children.length;
  return (
    <CodeFrame
      isLine={children.length <= LONGEST_LINE && !children.includes('\n')}
      text={() => children}
      label={label}
      fileName={children.length > FIRST_CHARACTERS ? fileName : null}
      onMore={isCut && !isOpen ? () => open(true) : null}
      note={isCut && <span className="faint">{bytesText(new Blob([children]).size)} in all</span>}
    >
      <pre tabIndex={0} role="region" aria-label={label}>
        <Text mono>{shown}</Text>
      </pre>
    </CodeFrame>
  );
}

export interface CodeFrameProps {
  /** Whether the buttons are beside the content, which is one short line. Default: no. */
  readonly isLine?: boolean;
  /** The whole content. */
  readonly text: () => string;
  readonly label: string;
  /** Name of the file that a download makes; null: there is no download. */
  readonly fileName: string | null;
  /** Shows more of the content; null: all of it is shown. */
  readonly onMore: (() => void) | null;
  /** Shown before the buttons. */
  readonly note?: ReactNode;
  readonly children: ReactNode;
}

/** The frame of a text, a tree or a comparison: its content, and the buttons that show more, download and copy. */
export function CodeFrame({ isLine = false, text, label, fileName, onMore, note, children }: CodeFrameProps) {
  return (
    <div className={isLine ? 'code code-line' : 'code'}>
      {children}
      <div className="code-actions">
        {note}
        {onMore !== null && (
          <Button look="ghost" onClick={onMore}>
            Show more
          </Button>
        )}
        {fileName !== null && (
          <Button look="ghost" aria-label={`Download ${label}`} onClick={() => download(text(), fileName)}>
            Download
          </Button>
        )}
        <CopyButton text={text} what={label} />
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
