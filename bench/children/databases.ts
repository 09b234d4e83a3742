// Creates databases for a run. It drops them after the parent process has ended, whatever the reason of the end.
import { randomUUID } from 'node:crypto';
import { createConnection } from 'mysql2/promise';
import { Client } from 'pg';
import { answerCalls } from '../processes/answer-calls.ts';
import { loadModule } from '../processes/server-modules.ts';
import type { EtcdCluster } from '../processes/server-modules.ts';

export type Engine = SqlEngine | 'etcd' | 'etcd-three';

type SqlEngine = 'postgres' | 'mysql';

interface Server {
  readonly name: string;
  /**
   * The environment variable with the URL of the server. The tests use the same variable. The user in the URL must be
   * allowed to create databases.
   */
  readonly variable: string;
  readonly defaultUrl: string;
  readonly drop: (database: string) => string;
}

interface Administrator {
  query(sql: string): Promise<unknown>;
  end(): Promise<void>;
}

const connectTimeoutMs = 5_000;

const servers: Readonly<Record<SqlEngine, Server>> = {
  postgres: {
    name: 'PostgreSQL',
    variable: 'HOMEOSTAT_TEST_POSTGRES',
    defaultUrl: 'postgres://postgres@127.0.0.1:5432/postgres',
    drop: (database) => `DROP DATABASE IF EXISTS ${database} WITH (FORCE)`,
  },
  mysql: {
    name: 'MySQL or MariaDB',
    variable: 'HOMEOSTAT_TEST_MYSQL',
    defaultUrl: 'mysql://root@127.0.0.1:3306',
    drop: (database) => `DROP DATABASE IF EXISTS ${database}`,
  },
};

const databases: { readonly engine: SqlEngine; readonly name: string }[] = [];
const clusters: EtcdCluster[] = [];
let creating: Promise<unknown> = Promise.resolve();

function create(engine: Engine): Promise<string | undefined> {
  const created =
    engine === 'etcd' || engine === 'etcd-three' ? startEtcd(engine === 'etcd' ? 1 : 3) : createDatabase(engine);
  creating = Promise.allSettled([creating, created]);
  return created;
}

/**
 * Starts a new etcd cluster, and returns the URL of an empty database on it. When etcd is not installed, returns
 * undefined, or throws in CI.
 */
async function startEtcd(size: number): Promise<string | undefined> {
  const { EtcdCluster: Cluster, hasEtcd, missingEtcd } = await loadModule('store/etcd/etcd-cluster.test-support');
  if (!(await hasEtcd())) {
    if (process.env['CI'] === 'true') throw new Error(missingEtcd);
    console.error(`left out: ${missingEtcd}`);
    return undefined;
  }
  const cluster = await Cluster.start({ size, args: ['--quota-backend-bytes=8589934592'] });
  clusters.push(cluster);
  return cluster.url('/bench');
}

/**
 * Creates an empty database, and returns its URL. When the environment variable with the URL of the engine's
 * server is not set, and no server runs at the default address, returns undefined, or throws in CI.
 */
async function createDatabase(engine: SqlEngine): Promise<string | undefined> {
  const { variable, name: server } = servers[engine];
  const administrator = await connect(engine).catch((error: unknown) => {
    if (process.env['CI'] === 'true' || process.env[variable] !== undefined) throw error;
    console.error(`no ${server} at the default address: its rows are left out; set ${variable} to use another URL`);
    return undefined;
  });
  if (administrator === undefined) return undefined;
  const name = `homeostat_bench_${randomUUID().replaceAll('-', '')}`;
  databases.push({ engine, name });
  await administrator.query(`CREATE DATABASE ${name}`);
  await administrator.end();
  return new URL(`/${name}`, urlOf(engine)).href;
}

function urlOf(engine: SqlEngine): string {
  const { variable, defaultUrl } = servers[engine];
  return process.env[variable] ?? defaultUrl;
}

async function connect(engine: SqlEngine): Promise<Administrator> {
  const url = urlOf(engine);
  if (engine === 'mysql') return createConnection({ uri: url, connectTimeout: connectTimeoutMs });
  const client = new Client({ connectionString: url, connectionTimeoutMillis: connectTimeoutMs });
  await client.connect();
  return client;
}

async function dropAll(): Promise<void> {
  await creating;
  for (const cluster of clusters) await cluster.stop();
  for (const { engine, name } of databases) {
    const administrator = await connect(engine);
    await administrator.query(servers[engine].drop(name));
    await administrator.end();
  }
}

// An interrupt is handled by the parent, which then ends this process.
process.on('SIGINT', () => undefined);
process.on('SIGTERM', () => undefined);

/** Returns the name of the database program with the MySQL protocol: MySQL or MariaDB. */
async function mysqlName(): Promise<string> {
  const administrator = await connect('mysql');
  const found = JSON.stringify(await administrator.query('SELECT VERSION()'));
  await administrator.end();
  return found.includes('MariaDB') ? 'MariaDB' : 'MySQL';
}

answerCalls({ create, mysqlName }, dropAll);
