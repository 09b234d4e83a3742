import { randomInt } from 'node:crypto';
import { expect } from 'chai';
import { checkHistory } from './check-history.ts';
import { createDatabase } from './database.ts';
import type { HistoryDatabase } from './database.ts';
import type { Fault } from './faults.ts';
import type { Guarantee, Violation } from './history.ts';
import type { Mutant } from './mutants.ts';
import { recordRun } from './run.ts';
import type { Run } from './run.ts';

interface Setup {
  readonly title: string;
  readonly engine: 'sqlite' | 'postgres';
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

describe('the history of a server with a planted bug', () => {
  async function brokenBy(mutant: Mutant, faults: readonly Fault[]): Promise<ReadonlySet<Guarantee>> {
    const database = await createDatabase('sqlite');
    try {
      const run = await recordRun({
        database: database!,
        replicas: 1,
        faults,
        mutant,
        seed,
        durationMs: mutantDurationMs,
      });
      return new Set(checkHistory(run.history).map(({ guarantee }) => guarantee));
    } finally {
      await database?.drop();
    }
  }

  it('that answers before a write is durable is not linearizable', async function () {
    this.timeout(overheadMs);
    expect(await brokenBy('earlyAnswers', ['kill'])).to.include('linearizable');
  });

  it('that answers some reads from an earlier state is not linearizable', async function () {
    this.timeout(overheadMs);
    expect(await brokenBy('staleReads', ['slowWatchers'])).to.include('linearizable');
  });

  it('that loses one change of its feed in three hundred breaks a promise to watchers, and is linearizable', async function () {
    this.timeout(overheadMs);
    const broken = await brokenBy('lostChanges', ['slowWatchers']);
    expect(broken).to.include('every write is an event').and.not.include('linearizable');
  });
});
