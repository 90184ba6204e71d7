/** The menu of the top bar: theme, time zone, keys, signing out. Never changes anything of the service. */
import { useEffect } from 'react';
import { useSession, useSigning } from '../data/session.ts';
import { useStored } from '../data/stored.ts';
import { Button } from '../parts/button.tsx';
import { Icon } from '../parts/icon.tsx';
import { Menu } from '../parts/menu.tsx';

const THEMES = [
  ['', 'Theme of the system'],
  ['light', 'Light theme'],
  ['dark', 'Dark theme'],
] as const;

const ZONES = [
  ['', `Times in ${Intl.DateTimeFormat().resolvedOptions().timeZone}`],
  ['utc', 'Times in UTC (Z)'],
] as const;

export function ThemeMenu({ onKeys }: { onKeys: () => void }) {
  const [theme, setTheme] = useStored('theme');
  const { data: session } = useSession();
  const { signOut } = useSigning();
  useEffect(() => {
    if (theme === '') delete document.documentElement.dataset['theme'];
    else document.documentElement.dataset['theme'] = theme;
  }, [theme]);
  const themes = THEMES.map(([value, text]) => ({
    text: value === theme ? `${text} ✓` : text,
    onChoose: () => setTheme(value),
  }));
  const [zone, setZone] = useStored('zone');
  const zones = ZONES.map(([value, text]) => ({
    text: value === zone ? `${text} ✓` : text,
    onChoose: () => setZone(value),
  }));
  const out = { text: `Sign out ${session?.name ?? ''}`.trim(), onChoose: () => void signOut() };
  const items = [
    ...themes,
    ...zones,
    { text: 'Keys', onChoose: onKeys },
    ...(session?.state === 'signed_in' ? [out] : []),
  ];
  return (
    <Menu trigger={<Button look="ghost" aria-label="Theme, keys and session" />} items={items}>
      <Icon name="theme" />
    </Menu>
  );
}
