/** The installation at a glance: trouble first, then lanes, processes, servers, and what failed last.
 *  It must never act: each thing has its own page. */
import { Link } from '@tanstack/react-router';
import type { ApprovalListing } from '../../../src/contract/run/approval-listing.ts';
import type { BudgetListing } from '../../../src/contract/model/budget-listing.ts';
import type { DeadLetterPage } from '../../../src/contract/directive/dead-letter.ts';
import type { LaneListing } from '../../../src/contract/request/lane-listing.ts';
import type { RequestListing } from '../../../src/contract/request/request-listing.ts';
import type { ToolListing } from '../../../src/contract/tool/tool-listing.ts';
import type { WorkerListing } from '../../../src/contract/request/worker-listing.ts';
import { useRead } from '../../data/queries.ts';
import { clockText } from '../../data/shown.ts';
import { ReadError, IncompleteBanner } from '../../parts/banner.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Page } from '../../parts/page.tsx';
import { Lanes } from './lanes.tsx';
import { Processes } from './processes.tsx';
import { LastDay } from './last-day.tsx';
import { LastFailures } from './last-failures.tsx';
import { Providers } from './providers.tsx';
import { Servers } from './servers.tsx';
import { Spend } from './spend.tsx';
import { type Trouble, troubleOf } from './trouble.ts';
import { Waiting } from './waiting.tsx';
import './overview.css';

const EVERY = { everyMs: 2_000 };
const SELDOM = { everyMs: 5_000 };
/** Number of the newest failed requests, of which those that ended last are shown. */
const SOME = 50;

export function OverviewPage() {
  const read = useInstallation();
  const { lanes, workers, tools, failed, waiting } = read;
  const error = [lanes, workers, tools, failed, waiting].find((each) => each.error !== null)?.error ?? null;
  return (
    <Page title="Overview" head={<Head trouble={troubleIn(read)} at={lanes.dataUpdatedAt} />}>
      {error !== null && <ReadError error={error} onRetry={() => void lanes.refetch()} />}
      {isIncomplete(read) && <IncompleteBanner />}
      <LastDay />
      <div className="overview">
        <section className="overview-main">
          {lanes.data !== undefined && <Lanes lanes={lanes.data.lanes} at={lanes.dataUpdatedAt} />}
          {failed.data !== undefined && <LastFailures listing={failed.data} />}
        </section>
        <section className="overview-side">
          {waiting.data !== undefined && (
            <Waiting
              listing={waiting.data}
              requests={failed.data?.counts.status.waiting ?? 0}
              at={waiting.dataUpdatedAt}
            />
          )}
          {lanes.data !== undefined && <Providers lanes={lanes.data.lanes} at={lanes.dataUpdatedAt} />}
          {read.budgets.data !== undefined && <Spend listing={read.budgets.data} />}
          {workers.data !== undefined && <Processes workers={workers.data.workers} />}
          {tools.data !== undefined && <Servers servers={tools.data.servers} />}
        </section>
      </div>
    </Page>
  );
}

function useInstallation() {
  return {
    lanes: useRead<LaneListing>('/v1/lanes', EVERY),
    workers: useRead<WorkerListing>('/v1/workers', EVERY),
    tools: useRead<ToolListing>('/v1/tools?remembered=true', SELDOM),
    failed: useRead<RequestListing>(`/v1/requests?status=failed&limit=${SOME}`, EVERY),
    waiting: useRead<ApprovalListing>('/v1/approvals', SELDOM),
    budgets: useRead<BudgetListing>('/v1/budgets', SELDOM),
    dead: useRead<DeadLetterPage>('/v1/dead-letters?limit=1', SELDOM),
  };
}

type Installation = ReturnType<typeof useInstallation>;

const isIncomplete = ({ failed, waiting }: Installation): boolean =>
  failed.data?.incomplete === true || waiting.data?.incomplete === true;

/** null: it is not known, as the list is turned off, cannot be read, or is being built and has found none so far. */
function waitingIn(read: Installation): number | null {
  const { data, error } = read.failed;
  const count = error === null ? (data?.counts.status.waiting ?? 0) : 0;
  return count === 0 && (error !== null || isIncomplete(read)) ? null : count;
}

/** null: not known yet. */
function troubleIn(read: Installation): readonly Trouble[] | null {
  const [lanes, workers, tools] = [read.lanes.data, read.workers.data, read.tools.data];
  if (lanes === undefined || workers === undefined || tools === undefined) return null;
  if (read.failed.isPending) return null;
  return troubleOf({
    ...lanes,
    ...workers,
    servers: tools.servers,
    budgets: read.budgets.data?.budgets ?? [],
    waiting: waitingIn(read),
    deadLetters: read.dead.data?.total ?? 0,
  });
}

/** `trouble` null: not known yet. */
function Head({ trouble, at }: { trouble: readonly Trouble[] | null; at: number }) {
  return (
    <>
      <h1 className="visually-hidden">Overview</h1>
      <p className="trouble">
        {trouble?.length === 0 && (
          <span className="trouble-none">
            <Icon name="check" /> No open problems
          </span>
        )}
        {trouble?.map(({ text, to, tone }) => (
          <Link key={text} to={to} className={`trouble-${tone}`}>
            <Icon name="warn" /> {text}
          </Link>
        ))}
        {at > 0 && <span className="faint">as of {clockText(new Date(at).toISOString())}</span>}
      </p>
    </>
  );
}
