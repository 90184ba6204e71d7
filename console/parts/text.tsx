/** Text that a model, tool or caller wrote.
 *  It must never become anything but text: no markup, no link, no direction. */
import { safePieces } from '../data/safe-text.ts';
import './text.css';

export function Text({ children, mono = false }: { children: string; mono?: boolean }) {
  const pieces = safePieces(children);
  return (
    <span className={mono ? 'text mono' : 'text'}>
      {pieces.map(({ text, isToken }, place) =>
        isToken ? (
          // oxlint-disable-next-line react/no-array-index-key
          <span className="text-token" key={place}>
            {text}
          </span>
        ) : (
          text
        ),
      )}
    </span>
  );
}
