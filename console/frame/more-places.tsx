/** The places that do not fit into the bar of a narrow window.
 *  It must never hold one that the bar shows. */
import { useNavigate } from '@tanstack/react-router';
import { Button } from '../parts/button.tsx';
import { Icon } from '../parts/icon.tsx';
import { Menu } from '../parts/menu.tsx';
import { PLACES } from './places.ts';

export function MorePlaces() {
  const navigate = useNavigate();
  const others = PLACES.filter(({ isFirst }) => !isFirst);
  return (
    <Menu
      trigger={<Button look="ghost" className="bottom-link" />}
      items={others.map(({ to, text }) => ({ text, onChoose: () => void navigate({ to }) }))}
    >
      <Icon name="more" />
      More
    </Menu>
  );
}
