/** The frame of a page: its title for the browser, its head with actions, and its scrolling body.
 *  It must never load anything. */
import { type ReactNode, useEffect } from 'react';
import { safeText } from '../data/safe-text.ts';
import './page.css';

export interface PageProps {
  /** Title of the tab, and of the page unless `head` replaces it. */
  readonly title: string;
  /** In place of the title. */
  readonly head?: ReactNode;
  /** The bar above it has its title already: it is then read, not shown. Default: no. */
  readonly isPlace?: boolean;
  /** Buttons beside the title. */
  readonly actions?: ReactNode;
  /** Whether its body fills the window to its edges and scrolls by itself; the title is then read, not shown. Default: no. */
  readonly isFull?: boolean;
  readonly children: ReactNode;
}

export function Page({ title, head, actions, isPlace = false, isFull = false, children }: PageProps) {
  useEffect(() => {
    document.title = `${safeText(title)} · Adjutant`;
  }, [title]);
  if (isFull)
    return (
      <div className="page-full">
        {head ?? <h1 className="visually-hidden">{title}</h1>}
        {children}
      </div>
    );
  if (isPlace && actions === undefined)
    return (
      <div className="page">
        <h1 className="visually-hidden">{title}</h1>
        {children}
      </div>
    );
  return (
    <div className="page">
      <div className="page-head">
        <div className="page-title">
          {head ?? <h1 className={isPlace ? 'visually-hidden' : undefined}>{title}</h1>}
        </div>
        {actions !== undefined && <div className="row">{actions}</div>}
      </div>
      {children}
    </div>
  );
}
