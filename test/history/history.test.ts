import { randomInt } from 'node:crypto';
import { expect } from 'chai';
import { checkHistory } from './check-history.ts';
import { createDatabase } from './database.ts';
import type { Engine, HistoryDatabase } from './database.ts';
import type { Fault } from './faults.ts';
import type { Guarantee, Violation } from './history.ts';
import type { Mutant } from './mutants.ts';
import { recordRun } from './run.ts';
import type { Run } from './run.ts';

interface Setup {
  readonly title: string;
  readonly engine: Engine;
  readonly replicas: number;
  readonly faults: readonly Fault[];
}

const databaseFaults: readonly Fault[] = [
  'kill',
  'pause',
  'endSessions',
  'cutDatabase',
  'stallDatabase',
  'slowWatchers',
];

const setups = {
  oneOnSqlite: {
    title: 'one server on SQLite',
    engine: 'sqlite',
    replicas: 1,
    faults: ['kill', 'pause', 'slowWatchers'],
  },
  oneOnPostgres: { title: 'one server on PostgreSQL', engine: 'postgres', replicas: 1, faults: databaseFaults },
  threeOnPostgres: { title: 'three replicas on PostgreSQL', engine: 'postgres', replicas: 3, faults: databaseFaults },
  threeOnMysql: { title: 'three replicas on MariaDB', engine: 'mysql', replicas: 3, faults: databaseFaults },
} satisfies Record<string, Setup>;

const durationMs = 1000 * Number(process.env['HOMEOSTAT_HISTORY_SECONDS'] ?? 6);
const mutantDurationMs = 3_000;
/** Start, end and check of a run. */
const overheadMs = 60_000;
const seed = Number(process.env['HOMEOSTAT_HISTORY_SEED'] ?? randomInt(2 ** 31));

/** What the reader of a failure needs: the first violations, and how to try it again. */
function report(violations: readonly Violation[], { history, faults }: Run): string {
  const { operations, listings } = history;
  const size = `${operations.length} operations, ${listings.length} lists, ${faults} faults`;
  const first = violations.slice(0, 20).map(({ guarantee, message }) => `\n  ${guarantee}: ${message}`);
  return `${violations.length} violations in ${size} (HOMEOSTAT_HISTORY_SEED=${seed})${first.join('')}`;
}

function checkSetup({ title, engine, replicas, faults }: Setup): void {
  describe(`the history of ${title} in trouble`, () => {
    let database: HistoryDatabase | undefined;
    before(async function create() {
      database = await createDatabase(engine);
      if (database === undefined) this.skip();
    });
    after(() => database?.drop());

    it('is linearizable, and watchers are told all of it, once and in order', async function () {
      this.timeout(2 * durationMs + overheadMs);
      const run = await recordRun({ database: database!, replicas, faults, seed, durationMs });
      const violations = checkHistory(run.history);
      expect(violations.length, report(violations, run)).to.equal(0);
      expect(run.faults, 'faults').to.be.greaterThan(0);
    });
  });
}

checkSetup(setups.oneOnSqlite);
checkSetup(setups.oneOnPostgres);
checkSetup(setups.threeOnPostgres);
checkSetup(setups.threeOnMysql);

describe('the history of servers with a planted bug', () => {
  /** undefined: there is no such database here. */
  async function brokenBy(
    mutant: Mutant,
    { engine, replicas, faults }: Omit<Setup, 'title'>,
  ): Promise<ReadonlySet<Guarantee> | undefined> {
    const database = await createDatabase(engine);
    if (database === undefined) return undefined;
    try {
      const run = await recordRun({ database, replicas, faults, mutant, seed, durationMs: mutantDurationMs });
      return new Set(checkHistory(run.history).map(({ guarantee }) => guarantee));
    } finally {
      await database.drop();
    }
  }

  it('that answers before a write is durable is not linearizable', async function () {
    this.timeout(overheadMs);
    expect(await brokenBy('earlyAnswers', { ...setups.oneOnSqlite, faults: ['kill'] })).to.include('linearizable');
  });

  it('that answers some reads from an earlier state is not linearizable', async function () {
    this.timeout(overheadMs);
    const broken = await brokenBy('staleReads', { ...setups.oneOnSqlite, faults: ['slowWatchers'] });
    expect(broken).to.include('linearizable');
  });

  it('that loses one change of its feed in three hundred breaks a promise to watchers', async function () {
    this.timeout(overheadMs);
    const broken = await brokenBy('lostChanges', { ...setups.oneOnSqlite, faults: ['slowWatchers'] });
    // Lists in chunks are made from the feed, and may be wrong as well.
    expect(broken).to.include('every write is an event');
  });

  it('of which each reads its own memory, whatever the others have written, is not linearizable', async function () {
    this.timeout(overheadMs);
    const broken = await brokenBy('unaskedReads', { ...setups.threeOnPostgres, faults: ['pause'] });
    if (broken === undefined) return this.skip();
    expect(broken).to.include('linearizable');
  });
});
