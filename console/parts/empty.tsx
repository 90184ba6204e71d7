/** An empty list: the entries that would be here, and the command that makes one.
 *  Never resembles an error. */
import type { ReactNode } from 'react';
import { CopyButton } from './copy-button.tsx';
import './empty.css';

export interface EmptyProps {
  readonly title: string;
  readonly children?: ReactNode;
  /** A command that makes one. */
  readonly command?: string;
}

export function Empty({ title, children, command }: EmptyProps) {
  return (
    <div className="empty">
      <p className="empty-title">{title}</p>
      {children !== undefined && <div className="muted">{children}</div>}
      {command !== undefined && (
        <div className="empty-command">
          <code>{command}</code>
          <CopyButton text={command} what="command" />
        </div>
      )}
    </div>
  );
}
