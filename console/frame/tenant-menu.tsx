/** The choice of the tenant whose data are shown, for operators: keys with the scope `admin` of the tenant `default`.
 *  Never shown to other keys, which the service refuses. */
import { useState } from 'react';
import type { KeyListing } from '../../src/contract/access/access.ts';
import { useRead } from '../data/queries.ts';
import { useSession } from '../data/session.ts';
import { ALL_TENANTS } from '../data/tenant.ts';
import { useUrlState } from '../data/url-state.ts';
import { Button } from '../parts/button.tsx';
import { AskDialog } from '../parts/dialog.tsx';
import { TextField } from '../parts/field.tsx';
import { Icon } from '../parts/icon.tsx';
import { Menu } from '../parts/menu.tsx';

const OPERATORS = 'default';
const MOST_NAMES = 30;
const LONGEST_NAME = 32;

export function TenantMenu() {
  const { data: session } = useSession();
  const isOperator = session?.tenant === OPERATORS && session.scopes?.includes('admin') === true;
  return isOperator ? <Choice /> : null;
}

function Choice() {
  const [chosen, choose] = useUrlState('tenant');
  const [, setOfRequest] = useUrlState('of');
  const [isNaming, setNaming] = useState(false);
  const { data } = useRead<KeyListing>('/v1/keys');
  const known = (data?.keys ?? []).map(({ tenant }) => tenant).filter((name) => name !== OPERATORS);
  const names = [...new Set(chosen === '' || chosen === ALL_TENANTS ? known : [chosen, ...known])];
  const show = (name: string): void => {
    setOfRequest('');
    choose(name);
  };
  const item = (name: string, text: string) => ({
    text: name === chosen ? `${text} ✓` : text,
    onChoose: () => show(name),
  });
  const items = [
    item('', OPERATORS),
    item(ALL_TENANTS, 'All tenants'),
    ...names
      .toSorted()
      .slice(0, MOST_NAMES)
      .map((name) => item(name, name)),
    { text: 'Another tenant…', onChoose: () => setNaming(true) },
  ];
  const shown = chosen === ALL_TENANTS ? 'All tenants' : chosen === '' ? OPERATORS : chosen;
  return (
    <>
      <Menu
        trigger={<Button look={chosen === '' ? 'ghost' : 'plain'} aria-label={`Tenant: ${shown}`} />}
        items={items}
      >
        <span className="top-bar-tenant">{shown}</span> <Icon name="down" />
      </Menu>
      {isNaming && (
        <NameDialog
          onClose={() => setNaming(false)}
          onName={(name) => {
            setNaming(false);
            show(name);
          }}
        />
      )}
    </>
  );
}

function NameDialog({ onClose, onName }: { onClose: () => void; onName: (name: string) => void }) {
  const [name, type] = useState('');
  return (
    <AskDialog
      onClose={onClose}
      title="Show another tenant"
      focus="first"
      verb="Show"
      isOff={name.trim() === ''}
      onAct={() => onName(name.trim())}
    >
      <TextField
        label="Tenant"
        hint="Its data can be read, not changed. The audit log records the reading."
        maxLength={LONGEST_NAME}
        spellCheck={false}
        value={name}
        onChange={({ target }) => type(target.value)}
      />
    </AskDialog>
  );
}
