/** One of some values.
 *  It must never be used for more than about fifty: those are filtered by text. */
import { Select as Base } from '@base-ui/react/select';
import { Icon } from './icon.tsx';
import './select.css';
import './menu.css';

export interface SelectProps {
  readonly label: string;
  readonly value: string;
  readonly options: readonly (readonly [value: string, text: string])[];
  readonly onChange: (value: string) => void;
}

export function Select({ label, value, options, onChange }: SelectProps) {
  const items = options.map(([each, text]) => ({ value: each, label: text }));
  return (
    <Base.Root items={items} value={value} onValueChange={(next) => onChange(String(next))}>
      <Base.Trigger className="button select" aria-label={label}>
        <Base.Value /> <Icon name="down" />
      </Base.Trigger>
      <Base.Portal>
        <Base.Positioner className="menu-place" sideOffset={4} alignItemWithTrigger={false}>
          <Base.Popup className="menu">
            {items.map((item) => (
              <Base.Item key={item.value} value={item.value} className="menu-item">
                <Base.ItemText>{item.label}</Base.ItemText>
              </Base.Item>
            ))}
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}
