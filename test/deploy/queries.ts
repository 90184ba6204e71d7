// Every query of deploy/: of the dashboard's panels, the alert rules and the ScaledObjects.
// Must never miss a file: it looks for them.
import { globSync, readFileSync } from 'node:fs';
import { parse } from 'yaml';

export interface Query {
  /** Where it stands. */
  readonly of: string;
  readonly expression: string;
}

interface Dashboard {
  readonly panels: readonly { title: string; targets?: readonly { expr: string }[] }[];
}
interface Rules {
  readonly groups: readonly { rules: readonly { alert: string; expr: string }[] }[];
}
interface Scaled {
  readonly kind?: string;
  readonly metadata: { name: string };
  readonly spec: { triggers: readonly { metadata: { query: string } }[] };
}

export function queriesOfDeployment(): Query[] {
  return [...dashboardQueries(), ...ruleQueries(), ...scalingQueries()];
}

function dashboardQueries(): Query[] {
  return globSync('deploy/grafana/dashboards/*.json').flatMap((file) => {
    const { panels } = JSON.parse(readFileSync(file, 'utf8')) as Dashboard;
    return panels.flatMap(({ title, targets = [] }) =>
      targets.map(({ expr }) => ({ of: `dashboard: ${title}`, expression: expr })),
    );
  });
}

function ruleQueries(): Query[] {
  const { groups } = parse(readFileSync('deploy/prometheus/rules.yml', 'utf8')) as Rules;
  return groups.flatMap(({ rules }) =>
    rules.map(({ alert, expr }) => ({ of: `alert: ${alert}`, expression: expr })),
  );
}

function scalingQueries(): Query[] {
  return globSync('deploy/kubernetes/**/*.yaml').flatMap((file) => {
    const found = parse(readFileSync(file, 'utf8').split('\n---\n')[0] ?? '') as Scaled | null;
    if (found?.kind !== 'ScaledObject') return [];
    return found.spec.triggers.map(({ metadata: { query } }) => ({
      of: `scaling: ${file}`,
      expression: query,
    }));
  });
}

/** The names of metrics in it: what is neither a function, a label nor a keyword. */
export function metricsIn(expression: string): string[] {
  const bare = expression
    .replaceAll(/"[^"]*"/g, '')
    .replaceAll(/\{[^}]*\}/g, '')
    .replaceAll(/\[[^\]]*\]/g, '')
    .replaceAll(/\b(by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)/g, '');
  return [...new Set([...bare.matchAll(/\b[a-z][a-z0-9]*_[a-z0-9_]+\b(?!\s*\()/g)].map(([name]) => name))];
}

/** A comparison answers nothing while all is well: what it compares is what must be there. */
export function comparedBy(expression: string): string {
  return expression.replace(/\s(>|<|==|!=|>=|<=)\s[\d.]+$/, '');
}
