import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { figuresOf } from '../../measure/figures.ts';
import type { Figures } from '../../measure/figures.ts';
import { storedPerson } from '../../load/person.ts';

const run = promisify(execFile);

export interface PgbenchParts {
  readonly url: string;
  readonly clients: number;
  /** The length of a run. It is rounded up to whole seconds, because pgbench accepts no others. */
  readonly seconds: number;
  readonly objects: number;
  /** The folder for the files that pgbench reads and writes. */
  readonly folder: string;
}

/** The share of the transactions whose latency is logged. To log all of them would reduce the throughput. */
const sample = 0.1;

/**
 * Returns the statements that create the table for {@link runPgbench}. As in the store's table, each page has free
 * space for another version of a row.
 */
export function pgbenchTable(objects: number): string {
  return `CREATE TABLE bench_single (id integer PRIMARY KEY, data text NOT NULL) WITH (fillfactor = 70);
    INSERT INTO bench_single SELECT id, repeat('x', ${storedPerson().length}) FROM generate_series(1, ${objects}) id`;
}

const script = `\\set id random(1, :objects)
UPDATE bench_single SET data = :data WHERE id = :id;
`;

export async function hasPgbench(): Promise<boolean> {
  return run('pgbench', ['--version']).then(
    () => true,
    () => false,
  );
}

/** Measures updates of single rows with a prepared statement, each in its own transaction. */
export async function runPgbench(parts: PgbenchParts): Promise<Figures> {
  const folder = await mkdtemp(join(parts.folder, 'pgbench-'));
  const file = join(folder, 'update.sql');
  await writeFile(file, script);
  const { stdout } = await run('pgbench', argumentsOf(parts, file), {
    cwd: folder,
    env: { ...process.env, ...connectionOf(parts.url) },
  });
  const perSecond = Number(/^tps = ([\d.]+)/m.exec(stdout)?.[1]);
  if (!(perSecond > 0)) throw new Error(stdout);
  const latencies = await latenciesMs(folder);
  await rm(folder, { recursive: true });
  return { ...figuresOf(latencies, 0), opsPerSecond: perSecond };
}

function argumentsOf({ clients, seconds, objects }: PgbenchParts, file: string): string[] {
  return [
    '--no-vacuum',
    '--protocol=prepared',
    '--jobs=2',
    `--client=${clients}`,
    `--time=${Math.ceil(seconds)}`,
    `--file=${file}`,
    `--define=objects=${objects}`,
    `--define=data=${storedPerson()}`,
    '--log',
    '--log-prefix=latencies',
    `--sampling-rate=${sample}`,
  ];
}

/**
 * Returns the connection as environment variables. If it were an argument, other users of the machine could see the
 * password.
 */
function connectionOf(url: string): Record<string, string> {
  const { hostname, port, username, password, pathname } = new URL(url);
  return {
    PGHOST: hostname,
    PGPORT: port === '' ? '5432' : port,
    PGUSER: decodeURIComponent(username),
    PGDATABASE: pathname.slice(1),
    ...(password === '' ? {} : { PGPASSWORD: decodeURIComponent(password) }),
  };
}

/**
 * Reads the latencies from pgbench's log. According to https://www.postgresql.org/docs/current/pgbench.html, the third
 * number of a line is the latency in microseconds.
 */
async function latenciesMs(folder: string): Promise<Float64Array> {
  const logs = (await readdir(folder)).filter((name) => name.startsWith('latencies'));
  const texts = await Promise.all(logs.map((name) => readFile(join(folder, name), 'utf8')));
  const lines = texts.flatMap((text) => text.trim().split('\n'));
  return Float64Array.from(lines, (line) => Number(line.split(' ')[2]) / 1000);
}
