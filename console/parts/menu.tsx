/** A button that opens a list of actions.
 *  It must never hide the one action that a page is for. */
import { Menu as Base } from '@base-ui/react/menu';
import type { ReactElement, ReactNode } from 'react';
import './menu.css';

export interface MenuItem {
  readonly text: string;
  readonly onChoose: () => void;
  readonly isDanger?: boolean;
  /** Why it cannot be chosen now. */
  readonly why?: string | null;
}

export interface MenuProps {
  /** The button. */
  readonly trigger: ReactElement;
  readonly children: ReactNode;
  readonly items: readonly MenuItem[];
}

export function Menu({ trigger, children, items }: MenuProps) {
  return (
    <Base.Root>
      <Base.Trigger render={trigger as ReactElement<Record<string, unknown>>}>{children}</Base.Trigger>
      <Base.Portal>
        <Base.Positioner className="menu-place" sideOffset={4} align="end">
          <Base.Popup className="menu">
            {items.map(({ text, onChoose, isDanger, why = null }) => (
              <Base.Item
                key={text}
                className={isDanger === true ? 'menu-item menu-danger' : 'menu-item'}
                disabled={why !== null}
                {...(why === null ? {} : { title: why })}
                onClick={onChoose}
              >
                {text}
              </Base.Item>
            ))}
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}
